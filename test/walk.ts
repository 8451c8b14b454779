// The random walk of test/faults/random-walk, as far as one likes: npm run walk -- --operations 20000 --seed 7

import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { MOST_SEED, type WalkReport, walk } from './faults/random-walk/walk.ts'

const { values } = parseArgs({
  options: { operations: { type: 'string', default: '20000' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? randomInt(MOST_SEED))
const operations = Number(values.operations)
if (![seed, operations].every(Number.isInteger)) throw new Error('--operations and --seed want whole numbers')

const endings: (() => Promise<void>)[] = []
const startedAt = performance.now()
try {
  console.log(`» a walk of ${operations} operations: --seed ${seed}`)
  const ending = { after: (end: () => Promise<void>) => void endings.push(end) }
  tell(await walk(ending, { seed, operations, say: (line) => console.log(`  ${line}`) }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  for (const end of endings) await end()
}

function tell({ tally, precision, ...counts }: WalkReport): void {
  for (const [answer, count] of [...tally].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`  ${String(count).padStart(6)}  ${answer}`)
  const { user, system } = process.cpuUsage()
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const took = `${seconds(performance.now() - startedAt)}, ${seconds((user + system) / 1_000)} of them computing`
  console.log(`✔ ${JSON.stringify({ ...counts, ...precision })} (${took})`)
}
