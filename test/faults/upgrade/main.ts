// npm run drill:upgrade: PostgreSQL 15 is replaced by 18 under load. Exits with 1 when something is lost.

import { exitWithUsageError, parseOptions, parsePositiveInteger } from '../../support/command-line.ts'
import { runUpgrade, type UpgradeReport, type Way } from './round.ts'

const HELP = `npm run drill:upgrade [-- --payments N] [-- --way restart|address] [-- --json]

Starts PostgreSQL 15 with a history of payments, the service and its provider as processes, and sixteen clients that make
payments and charges. PostgreSQL 18 gets everything by logical replication and takes over, by the runbook in
docs/running-in-production.md. Every acknowledged payment must be there once, and every invariant hold.

  --payments N  payments of the history (100000), which takes a few minutes
  --way WAY     restart: the service is stopped, and started with the new URL
                address: the address of the database leads to the new server, and the service runs on
                (both, one after the other)
  --json        prints the reports as JSON
  --help        this text
`

const WAYS: readonly Way[] = ['restart', 'address']
const options = parseOptions(HELP, {
  payments: { type: 'string', default: '100000' },
  way: { type: 'string' },
  json: { type: 'boolean' },
})
const payments = parsePositiveInteger('payments', options.payments)
const ways = WAYS.filter((way) => options.way === undefined || options.way === way)
if (ways.length === 0) exitWithUsageError(`--way must be one of: ${WAYS.join(', ')}.`)

const startedAt = performance.now()
const reports: UpgradeReport[] = []
for (const way of ways) {
  let last = ''
  const onStep = (text: string) => {
    if (text !== last) process.stderr.write(`${secondsSince()} ${way}: ${text}\n`)
    last = text
  }
  const report = await runUpgrade({ payments, way, loadMs: 5_000, onStep })
  reports.push(report)
  if (!options.json) process.stdout.write(`${describe(report)}\n`)
}
if (options.json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`)
if (reports.some(({ lost, violations }) => lost > 0 || violations.length > 0)) process.exitCode = 1

function secondsSince(): string {
  return `${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s`
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

function describeWait({ waited: { stopMs, receiveMs, startMs } }: UpgradeReport): string {
  return `stop ${seconds(stopMs)}, receive ${seconds(receiveMs)}, start ${seconds(startMs)}`
}

function describe(report: UpgradeReport): string {
  return [
    `${report.way}: ${report.payments} payments copied in ${seconds(report.copiedInMs)}`,
    `longest time without an acknowledgement ${seconds(report.longestGapMs)}: ${describeWait(report)}`,
    `${report.acknowledged} acknowledged, ${report.lost} lost, ${report.unanswered} requests repeated`,
    ...report.violations.map((violation) => `✖ ${violation}`),
  ].join('\n  ')
}
