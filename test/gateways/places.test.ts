// What a new gateway needs outside its folder, beyond what follows from its line in GATEWAYS. The checklist at the end of
// docs/adding-a-gateway.md is the same list.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { GATEWAYS } from '../../src/compose/gateways.ts'
import type { GatewayDefinition } from '../../src/gateways/definition.ts'
import { DEFAULT_ROUTES } from '../../src/gateways/routing/default-routes.ts'
import { readTree } from '../tidy/tree.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const folderOf = ({ name }: GatewayDefinition) => name.replaceAll('_', '-')
const variablesOf = ({ name }: GatewayDefinition) => `GATEWAY_${name.toUpperCase()}_`
/** Some pages leave out the company: "Daraja" is enough for "Safaricom Daraja". */
const isNamedIn = (text: string, { title }: GatewayDefinition) =>
  text.includes(title.split(' ').at(-1) ?? title)

/** The chapters of a page that say something about every gateway. */
const CHAPTERS = [
  'The first day at a provider',
  'Webhooks from gateways',
  'Chargebacks and reversals',
  'Refunds made at the provider',
]

const chapters = new Map(
  read('docs/gateways.md')
    .split(/^## /m)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
)
const SERVICE_TESTS = [...readTree('test/api'), ...readTree('test/support')]

/** What is missing for a gateway, as sentences that say what to do. */
function missingFor(definition: GatewayDefinition): string[] {
  const { name, title } = definition
  const folder = `test/gateways/${folderOf(definition)}`
  const files = existsSync(join(ROOT, folder)) ? readdirSync(join(ROOT, folder)) : []
  const hasConformance = files
    .filter((file) => file.endsWith('.test.ts'))
    .some((file) => read(`${folder}/${file}`).includes('testConformance('))
  const isInService = SERVICE_TESTS.some(({ text }) =>
    text.includes(`gateways/${folderOf(definition)}/fake.ts`),
  )
  const isRouted = DEFAULT_ROUTES.some(({ gateways }) => gateways.includes(name))
  const setUp = chapters.get('For the whole instance') ?? ''
  const checks: [boolean, string][] = [
    [hasConformance, `${folder} has no test that calls testConformance`],
    [isInService, `no test in test/api runs ${name} behind the whole service with its fake`],
    [isRouted, `no row of DEFAULT_ROUTES (src/gateways/routing/default-routes.ts) names ${name}`],
    [setUp.includes(variablesOf(definition)), `docs/gateways.md does not say which variables ${title} needs`],
    [isNamedIn(read('CHANGELOG.md'), definition), `CHANGELOG.md does not name ${title}`],
    ...CHAPTERS.map((chapter): [boolean, string] => [
      isNamedIn(chapters.get(chapter) ?? '', definition),
      `docs/gateways.md, chapter "${chapter}", does not say how it is at ${title}`,
    ]),
  ]
  return checks.flatMap(([isThere, sentence]) => (isThere ? [] : [sentence]))
}

describe('the places of a gateway', () => {
  it('every gateway has its tests, its routes and its documentation', () => {
    assert.deepEqual(GATEWAYS.flatMap(missingFor), [])
  })

  it('a gateway without any of them gets a sentence for each', () => {
    const [known] = GATEWAYS
    assert.ok(known)
    const missing = missingFor({ ...known, name: 'acme', title: 'Acme' })
    assert.equal(missing.length, 5 + CHAPTERS.length, missing.join('\n'))
  })
})
