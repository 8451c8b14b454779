// Parts of hand-written pages that follow from tables: the map and the gateways in README.md, the lists of gateways in
// docs/gateways.md and docs/reconciliation.md, the diagram in ARCHITECTURE.md, the table of dependencies in its decision, and
// the table of live runs. `npm run docs` writes them; tidy.test.ts compares.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GATEWAYS } from '../../src/compose/gateways.ts'
import type { GatewayDefinition } from '../../src/gateways/definition.ts'
import { FORMATS } from '../../src/reconciliation/formats.ts'
import { renderGateways } from '../gateways/live/gateway-table.ts'
import { LIVE_FOLDER, readRuns, renderTable } from '../gateways/live/transcript.ts'
import { WITHOUT_DESCRIPTION } from '../gateways/schemas/sources.ts'
import { renderDiagram, renderMap } from './layers.ts'
import { ROOT } from './tree.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** The pages with their written parts as they should be. */
export function renderWrittenParts(): Record<string, string> {
  return {
    'README.md': replace(
      replace(read('README.md'), /(?<=\nsrc\/config\.ts[^\n]*\n)(?:src\/[\w-]+\/ [^\n]*\n)*/, map),
      /(?<=<!-- gateways -->\n)[\s\S]*?(?=<!-- \/gateways -->)/,
      renderGateways,
    ),
    'docs/gateways.md': replace(
      replace(read('docs/gateways.md'), /(?<=Cowry collects through )[^.]+(?=\.)/, () => listOf(GATEWAYS)),
      /(?<=\n\| )[^|\n]+(?= \| none \|)/,
      () => titlesOf(GATEWAYS.filter(({ name }) => Object.hasOwn(WITHOUT_DESCRIPTION, name))),
    ),
    'docs/reconciliation.md': replace(
      read('docs/reconciliation.md'),
      /(?<=\n\*\*)[^*]+(?=\*\*: we do not know their exports)/,
      () => titlesOf(GATEWAYS.filter(({ name }) => !FORMATS.some((format) => format === name))),
    ),
    'docs/live/README.md': renderTable(readRuns(join(ROOT, LIVE_FOLDER))),
    'ARCHITECTURE.md': replace(
      read('ARCHITECTURE.md'),
      /(?<=<!-- layers -->\n)[\s\S]*?(?=<!-- \/layers -->)/,
      () => `${renderDiagram()}\n`,
    ),
    'docs/decisions/0010-dependencies.md': replace(
      read('docs/decisions/0010-dependencies.md'),
      /(?<=<!-- dependencies -->\n)[\s\S]*?(?=<!-- \/dependencies -->)/,
      renderDependencies,
    ),
  }
}

function replace(text: string, part: RegExp, render: (page: string) => string): string {
  if (!part.test(text)) throw new Error(`the part ${part} was not found`)
  return text.replace(part, () => render(text))
}

const titlesOf = (gateways: readonly GatewayDefinition[]) => gateways.map(({ title }) => title).join(', ')

function listOf(gateways: readonly GatewayDefinition[]): string {
  const last = gateways.at(-1)
  return `${titlesOf(gateways.slice(0, -1))} and ${last?.title}`
}

function map(page: string): string {
  const width = /\n(src\/config\.ts +)/.exec(page)?.[1]?.length ?? 0
  return `${renderMap(width)}\n`
}

/** One row for each run-time dependency of package.json; the reason is kept from the page, and must be there. */
function renderDependencies(page: string): string {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
  const reasons = new Map(
    [...page.matchAll(/^\| `([^`]+)` \|(?: [^|]* \|)? ([^|]+) \|$/gm)].map(([, name, why]) => [name, why]),
  )
  const rows = Object.entries(dependencies).map(
    ([name, version]) => `| \`${name}\` | ${version} | ${reasons.get(name) ?? 'no reason given'} |\n`,
  )
  return ['| Package | Version | Why |\n', '| --- | --- | --- |\n', ...rows].join('')
}
