// npm run fuzz: sends generated requests to its own service, and ends with 1 if a response was wrong.

import { parseOptions, parsePositiveInteger } from '../support/command-line.ts'
import { fuzz, type Report } from './fuzz.ts'
import { createProgress } from './progress.ts'
import { startTarget } from './target.ts'

const HELP = `npm run fuzz [-- --requests N] [-- --seed N] [-- --only TEXT] [-- --json]

Starts a service as a process of its own and sends it requests made from its own OpenAPI document: valid ones, nearly
valid ones and hostile ones, to every operation. Every answer must be documented, carry its headers and its request id,
never be a 5xx, and never take more than a second when it is asked for alone. Afterwards every invariant must hold.

  --requests  how many (100000)
  --only      only operations whose name has this in it, such as /p2p/
  --seed      makes the same requests again; what they find may differ, because ids do (random)
  --json      one JSON document instead of the table
  --help      this text
`

const options = parseOptions(HELP, {
  requests: { type: 'string', default: '100000' },
  seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 1_000_000)) },
  only: { type: 'string' },
  json: { type: 'boolean', default: false },
})
const requests = parsePositiveInteger('requests', options.requests)
const seed = parsePositiveInteger('seed', options.seed)

const cleanups: (() => Promise<void>)[] = []
try {
  process.stderr.write(`Seed ${seed}\n`)
  const target = await startTarget({ after: (end) => void cleanups.push(end) })
  const onProgress = createProgress(requests)
  printReport(await fuzz(target.document, target, { requests, seed, onProgress, only: options.only }))
  await target.assertHealthy()
} finally {
  for (const end of cleanups) await end()
}

function printReport(report: Report): void {
  const { defects, unreached, slow } = report
  const isBroken = defects.length + unreached.length + slow.alone.length > 0
  process.stdout.write(
    options.json ? `${JSON.stringify({ ...report, ok: !isBroken }, null, 2)}\n` : tableOf(report),
  )
  if (isBroken) process.exitCode = 1
}

function tableOf({ requests, seed, kinds, statuses, defects, unreached, slow }: Report): string {
  const counts = (table: Record<string, number>) =>
    Object.entries(table)
      .map(([name, count]) => `${name}: ${count}`)
      .join('   ')
  const found = [...defects, ...slow.alone].map(
    ({ operation, problem, mutations, request }) =>
      `\n✖ ${operation} (${mutations.join(', ') || 'valid'})\n  ${problem}\n  ${request}\n`,
  )
  return [
    `${requests} requests, seed ${seed}\n`,
    `  ${counts(kinds)}\n  ${counts(statuses)}\n`,
    `  5xx or outside the document: ${defects.length}   over 1 s alone: ${slow.alone.length} of ${slow.beside}\n`,
    unreached.length > 0 ? `  never reached: ${unreached.join(', ')}\n` : '',
    ...found,
  ].join('')
}
