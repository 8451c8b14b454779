// npm run walk: the random walk of test/faults/random-walk, with any number of steps.

import { randomInt } from 'node:crypto'
import { MAX_SEED, type WalkReport, walk } from './faults/random-walk/walk.ts'
import { parseOptions, parsePositiveInteger } from './support/command-line.ts'

const HELP = `npm run walk [-- --operations N] [-- --seed N] [-- --json]

Runs random operations of merchants and payers, sequentially and in parallel, in an order that depends only on the seed,
and compares every response, every list and the ledger with a model.

  --operations N  number of operations (20000)
  --seed N        repeats a run; parallel operations may still end differently (random)
  --json          prints one JSON document instead of lines
  --help          this text
`

const options = parseOptions(HELP, {
  operations: { type: 'string', default: '20000' },
  seed: { type: 'string', default: String(randomInt(1, MAX_SEED)) },
  json: { type: 'boolean', default: false },
})
const seed = parsePositiveInteger('seed', options.seed)
const operations = parsePositiveInteger('operations', options.operations)
// With --json, stdout is for the document.
const show = (line: string) => void (options.json ? process.stderr : process.stdout).write(`${line}\n`)

const cleanups: (() => Promise<void>)[] = []
const startedAt = performance.now()
try {
  show(`» a walk of ${operations} operations: --seed ${seed}`)
  const ending = { after: (end: () => Promise<void>) => void cleanups.push(end) }
  printReport(await walk(ending, { seed, operations, onProgress: (line) => show(`  ${line}`) }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  for (const end of cleanups) await end()
}

function printReport({ tally, precision, ...counts }: WalkReport): void {
  for (const [answer, count] of [...tally].sort(([a], [b]) => (a < b ? -1 : 1)))
    show(`  ${String(count).padStart(6)}  ${answer}`)
  const { user, system } = process.cpuUsage()
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const took = `${seconds(performance.now() - startedAt)}, ${seconds((user + system) / 1_000)} of them computing`
  show(`✔ ${JSON.stringify({ ...counts, ...precision })} (${took})`)
  const document = { seed, ...counts, ...precision, answers: Object.fromEntries(tally) }
  if (options.json) process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}
