// npm run chaos: kills, stops and cuts off the processes of a whole deployment under load, compares all records
// afterwards, and cleanups with 1 if anything is wrong.

import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { parseOptions, parsePositiveInteger } from '../../support/command-line.ts'
import { chaos } from './chaos.ts'
import { createProgress } from './progress.ts'
import { tableOf } from './table.ts'

const HELP = `npm run chaos [-- --kills N] [-- --seconds N] [-- --seed N] [-- --json FILE]

Starts two API and two worker processes, a PostgreSQL, the sandbox provider and a consumer of webhooks, each pair with a
proxy between them, and puts load on them. Then processes are killed and stopped, connections are cut, held and reset,
answers to COMMIT get lost, and PostgreSQL restarts. Afterwards everything must come to its end within 60 s, and what was
acknowledged, what the database has and what the provider executed must agree.

  --kills    how many processes are killed (200)
  --seconds  how long all that lasts (1.5 for each kill)
  --seed     brings the same faults in the same order; how the processes meet them differs (random)
  --json     writes the report to this file as well
  --help     this text
`

const options = parseOptions(HELP, {
  kills: { type: 'string', default: '200' },
  seconds: { type: 'string' },
  seed: { type: 'string', default: String(randomInt(1, 2 ** 32)) },
  json: { type: 'string' },
})

const SECONDS_PER_KILL = 1.5
// On a machine that has other work too.
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
  // Whoever gives up must not leave a dozen processes behind.
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
    if (isShort) process.stderr.write('Not every kill could be made: processes start too slowly here.\n')
    if (report.folder !== null || isShort) process.exitCode = 1
  } finally {
    await cleanUpAll()
  }
}
