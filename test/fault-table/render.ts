// Renders docs/faults.md from the titles of the tests, so that it claims only what is tested.

import { codeLines, isTest, type TreeFile } from '../tidy/tree.ts'
import { FAULT_GROUPS, type Fault, type FaultGroup } from './catalogue.ts'

export interface NamedTest {
  path: string
  line: number
  name: string
  ids: string[]
}

const QUOTED = /'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\]|\\.)*)"/g
const IDS = /F-\d\d\b/g

/** The titles of tests, and of cases in tables of tests, that contain a fault id. */
export function findNamedTests(tree: readonly TreeFile[]): NamedTest[] {
  return tree.filter(isTest).flatMap((file) =>
    codeLines(file).flatMap(({ number, line }) =>
      [...line.matchAll(QUOTED)]
        .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
        .map((name) => ({ path: file.path, line: number, name: plainName(name), ids: idsOf(name) }))
        .filter(({ ids }) => ids.length > 0),
    ),
  )
}

function idsOf(name: string): string[] {
  return [...new Set(name.replaceAll('UTF-', '').match(IDS))]
}

/** The title without its ids, which have their own column, and without template values, which exist only at run time. */
function plainName(name: string): string {
  return name
    .replace(/^F-\d\d: /, '')
    .replace(/\s*\((?:F-\d\d(?:, )?)+\)/, '')
    .replace(/\$\{[^}]*\}/g, '…')
    .replaceAll('\\', '')
    .trim()
}

/** Errors of the catalogue: faults without test and reason, faults with both, and unknown ids in titles. */
export function findGaps(tests: readonly NamedTest[]): string[] {
  const named = new Set(tests.flatMap(({ ids }) => ids))
  const faults = FAULT_GROUPS.flatMap((group) => group.faults)
  const known = new Set(faults.map(({ id }) => id))
  return [
    ...faults
      .filter((one) => !named.has(one.id) && !one.uncovered)
      .map(({ id }) => `${id} has neither a test nor a reason`),
    ...faults
      .filter((one) => named.has(one.id) && one.uncovered)
      .map(({ id }) => `${id} has both a test and a reason for having none`),
    ...[...named].filter((id) => !known.has(id)).map((id) => `${id} is not in the catalogue`),
  ]
}

export function renderFaults(tests: readonly NamedTest[]): string {
  const covered = FAULT_GROUPS.flatMap(({ faults }) => faults).filter((one) => !one.uncovered).length
  return [
    '# Faults',
    '',
    'The faults, how the service handles each, and the tests that prove it. `npm run faults` generates this page from the',
    'titles of the tests; `npm test` fails when it is stale, or when a fault has neither a test nor a reason.',
    `${covered} of ${FAULT_GROUPS.flatMap(({ faults }) => faults).length} faults have tests.`,
    '',
    ...FAULT_GROUPS.flatMap((group) => renderGroup(group, tests)),
  ].join('\n')
}

function renderGroup({ title, faults }: FaultGroup, tests: readonly NamedTest[]): string[] {
  return [
    `## ${title}`,
    '',
    '| id | fault | expected behaviour | tests |',
    '|---|---|---|---|',
    ...faults.map((one) => `| ${one.id} | ${one.fault} | ${one.expected} | ${coveredBy(one, tests)} |`),
    '',
  ]
}

const MAX_NAMES = 4

function coveredBy({ id, uncovered }: Fault, tests: readonly NamedTest[]): string {
  if (uncovered) return `No test: ${uncovered}`
  const own = tests.filter(({ ids }) => ids.includes(id))
  const shown = own.slice(0, MAX_NAMES).map(({ path, name }) => `[${escaped(name)}](../${path})`)
  const left = own.length - shown.length
  return [...shown, ...(left > 0 ? [`and ${left} more`] : [])].join('<br>')
}

function escaped(name: string): string {
  return name.replace(/[|[\]<>]/g, (character) => `\\${character}`)
}
