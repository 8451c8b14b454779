// npm run gateways:schemas: writes the extract of a provider's description from a local copy of it.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exitWithUsageError, parseOptions } from '../../support/command-line.ts'
import { type Extract, extractOperations } from './extract.ts'
import { SOURCES } from './sources.ts'

const MAX_LINE = 110

const HELP = `npm run gateways:schemas -- --name NAME --file FILE

Writes test/gateways/schemas/NAME.json: the operations of a provider's OpenAPI description that our connector calls.
Download the description from the address in test/gateways/schemas/sources.ts, and update its revision and date there.
A description in YAML must be converted to JSON first.

  --name NAME  ${Object.keys(SOURCES).join(', ')}
  --file FILE  a local copy of the description, in JSON
  --help       this text
`

const { name, file } = parseOptions(HELP, { name: { type: 'string' }, file: { type: 'string' } })
if (name === undefined || file === undefined) exitWithUsageError('Give --name and --file.')
const source = SOURCES[name]
if (!source) exitWithUsageError(`--name must be one of ${Object.keys(SOURCES).join(', ')}.`)

const description = JSON.parse(readFileSync(file, 'utf8'))
const { operations: called, corrections = [], ...origin } = source
const { title, version } = description.info
const extract: Extract = {
  source: { ...origin, title, version, corrections },
  ...extractOperations(description, called, corrections),
}
const path = join(import.meta.dirname, `${name}.json`)
writeFileSync(path, `${render(extract)}\n`)
process.stdout.write(`${path}\n`)

/** JSON in which a value that fits is one line. */
function render(value: unknown, indent = ''): string {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || line.length + indent.length <= MAX_LINE) return line
  const inner = `${indent} `
  const parts = Array.isArray(value)
    ? value.map((one) => `${inner}${render(one, inner)}`)
    : Object.entries(value).map(([key, one]) => `${inner}${JSON.stringify(key)}: ${render(one, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return `${open}\n${parts.join(',\n')}\n${indent}${close}`
}
