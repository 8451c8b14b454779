// npm run chaos: kills, stops and disconnects the processes of a deployment under load, compares all records
// afterwards, and exits with 1 if a check fails.

import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { parseOptions, parsePositiveInteger } from '../../support/command-line.ts'
import { chaos } from './chaos.ts'
import { createProgress } from './progress.ts'
import { tableOf } from './table.ts'

const HELP = `npm run chaos [-- --kills N] [-- --seconds N] [-- --seed N] [-- --json FILE]

Starts two API and two worker processes, a PostgreSQL, the sandbox provider and a webhook consumer, each pair with a
proxy between them, and puts load on them. Then it kills and stops processes, cuts, holds and resets connections, drops
responses to COMMIT, and restarts PostgreSQL. Afterwards all work must complete within 60 s, and the acknowledgements,
the database and the provider's executions must agree.

  --kills    processes to kill (200)
  --seconds  duration of the faults (1.5 for each kill)
  --seed     repeats the faults of a seed in the same order; how the processes react differs (random)
  --json     also writes the report to this file
  --help     this text
`

const options = parseOptions(HELP, {
  kills: { type: 'string', default: '200' },
  seconds: { type: 'string' },
  seed: { type: 'string', default: String(randomInt(1, 2 ** 32)) },
  json: { type: 'string' },
})

const SECONDS_PER_KILL = 1.5
// For a machine that has other work too.
const MAX_SLOWDOWN = 10

await main(parsePositiveInteger('kills', options.kills), parsePositiveInteger('seed', options.seed))

async function main(kills: number, seed: number): Promise<void> {
  const seconds = options.seconds
    ? parsePositiveInteger('seconds', options.seconds)
    : kills * SECONDS_PER_KILL
  const cleanups: (() => Promise<void>)[] = []
  let cleaningUp: Promise<void> | undefined
  const cleanUpAll = () => {
    cleaningUp ??= (async () => {
      for (const end of cleanups) await end()
    })()
    return cleaningUp
  }
  // An interrupted run must not leave its processes behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void cleanUpAll().finally(() => process.exit(130)))
  process.stderr.write(`${kills} kills in ${seconds} s: --seed ${seed}\n`)
  try {
    const onProgress = createProgress(kills)
    const maxSeconds = MAX_SLOWDOWN * seconds
    const cleanup = { after: (end: () => Promise<void>) => void cleanups.push(end) }
    const report = await chaos(cleanup, { kills, seconds, maxSeconds, seed, onProgress })
    process.stdout.write(tableOf(report))
    if (options.json) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
    const isShort = report.faults.kills < kills
    if (isShort)
      process.stderr.write('Not every kill was made: processes start too slowly on this machine.\n')
    if (report.folder !== null || isShort) process.exitCode = 1
  } finally {
    await cleanUpAll()
  }
}
