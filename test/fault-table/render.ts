// docs/faults.md, written from the names of the tests, so that it says what is tested and nothing else.

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

/** Every name of a test, or of a case in a table of tests, that says which faults it is about. */
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

/** Without the ids, which stand beside it, and without what is filled in only when the test runs. */
function plainName(name: string): string {
  return name
    .replace(/^F-\d\d: /, '')
    .replace(/\s*\((?:F-\d\d(?:, )?)+\)/, '')
    .replace(/\$\{[^}]*\}/g, '…')
    .replaceAll('\\', '')
    .trim()
}

/** What is wrong with the catalogue: faults without test and reason, reasons beside tests, ids that nobody knows. */
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
      .map(({ id }) => `${id} has a test, and a reason why it has none`),
    ...[...named].filter((id) => !known.has(id)).map((id) => `${id} is no fault of the catalogue`),
  ]
}

export function renderFaults(tests: readonly NamedTest[]): string {
  const covered = FAULT_GROUPS.flatMap(({ faults }) => faults).filter((one) => !one.uncovered).length
  return [
    '# Faults',
    '',
    'What can go wrong, what happens then, and the tests that show it. Written by `npm run faults` from the names of the',
    'tests; `npm test` fails when it is stale, when a fault has neither a test nor a reason, and when a test fails.',
    `${covered} of ${FAULT_GROUPS.flatMap(({ faults }) => faults).length} faults have tests.`,
    '',
    ...FAULT_GROUPS.flatMap((group) => renderGroup(group, tests)),
  ].join('\n')
}

function renderGroup({ title, faults }: FaultGroup, tests: readonly NamedTest[]): string[] {
  return [
    `## ${title}`,
    '',
    '| id | what goes wrong | what happens | shown by |',
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
