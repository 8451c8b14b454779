// npm run chaos:failover: loses a PostgreSQL primary in every mode, under load, and compares the acknowledgements with
// the standby. Exits with 1 when an acknowledged record is lost, or when the control loses nothing.

import { writeFile } from 'node:fs/promises'
import { exitWithUsageError, parseOptions, parsePositiveInteger } from '../../support/command-line.ts'
import { CONTROL, MODES, type Mode } from './modes.ts'
import { prepareBase } from './postgres-servers.ts'
import { type RoundReport, runRound } from './round.ts'

const HELP = `npm run chaos:failover [-- --rounds N] [-- --mode TEXT] [-- --json FILE]

Starts a primary and a synchronous standby of PostgreSQL on the loopback, the service and its provider as processes, and
sixteen clients. The primary is killed; isolated; killed after its standby was disconnected; and killed after the waits
for the standby were cancelled. Each time the standby is promoted, and no acknowledged record may be missing.
A control without synchronous replication must lose records, or the rest proves nothing.

  --rounds N   rounds of each mode (1), about half a minute each
  --mode TEXT  only modes whose name contains the text, and the control
  --json FILE  writes the report of every round as JSON
  --help       this text
`

const options = parseOptions(HELP, {
  rounds: { type: 'string', default: '1' },
  mode: { type: 'string', default: '' },
  json: { type: 'string' },
})

const TIMES = { beforeMs: 4_000, afterMs: 4_000 }

await runAll(parsePositiveInteger('rounds', options.rounds))

async function runAll(rounds: number): Promise<void> {
  if (!MODES.some(({ name }) => name.includes(options.mode)))
    exitWithUsageError(`--mode must be part of one of: ${MODES.map(({ name }) => name).join('; ')}`)
  const modes = [...MODES.filter(({ name }) => name.includes(options.mode)), CONTROL]
  const plan = Array.from({ length: rounds }, () => modes).flat()
  const reports: RoundReport[] = []
  const ends: (() => Promise<void>)[] = []
  try {
    const base = await prepareBase({ after: (end) => void ends.push(end) })
    const reportProgress = createProgress(plan.length)
    for (const [done, mode] of plan.entries()) {
      reportProgress(done, mode)
      reports.push(await runRound(base, mode, TIMES))
    }
  } finally {
    for (const end of ends) await end()
  }
  const failures = modes.flatMap((mode) => findFailures(mode, reports))
  process.stdout.write(`${tableOf(modes, reports)}\n`)
  for (const failure of failures) process.stdout.write(`✖ ${failure}\n`)
  if (options.json) await writeFile(options.json, `${JSON.stringify({ reports, failures }, null, 2)}\n`)
  if (failures.length > 0) process.exitCode = 1
}

function createProgress(total: number): (done: number, mode: Mode) => void {
  const startedAt = performance.now()
  return (done, { name }) => {
    const perRoundMs = done === 0 ? undefined : (performance.now() - startedAt) / done
    const left = perRoundMs ? `, about ${Math.ceil((perRoundMs * (total - done)) / 1_000)} s left` : ''
    process.stderr.write(`round ${done + 1} of ${total}${left}: ${name}\n`)
  }
}

function findFailures(mode: Mode, reports: readonly RoundReport[]): string[] {
  const own = reports.filter((report) => report.mode === mode.name)
  const lost = sum(own, ({ lost }) => lost)
  const wrong = own.flatMap((report) => report.violations).map((violation) => `${mode.name}: ${violation}`)
  if (mode === CONTROL)
    return lost > 0 ? wrong : [...wrong, `${mode.name}: nothing was lost, so this proves nothing`]
  return lost === 0 ? wrong : [...wrong, `${mode.name}: ${lost} acknowledged payments were lost`]
}

function tableOf(modes: readonly Mode[], reports: readonly RoundReport[]): string {
  const rows = modes.map(({ name, fault, isSynchronous }) => {
    const own = reports.filter((report) => report.mode === name)
    return [
      `${name} (${fault})`,
      isSynchronous ? 'sync' : 'async',
      own.length,
      sum(own, ({ acknowledged }) => acknowledged),
      sum(own, ({ lost }) => lost),
      `${(Math.max(...own.map(({ longestGapMs }) => longestGapMs)) / 1_000).toFixed(1)} s`,
      sum(own, ({ unanswered }) => unanswered),
      sum(own, ({ cancelled }) => cancelled ?? 0),
    ].map(String)
  })
  const head = [
    'fault',
    'replication',
    'rounds',
    'acknowledged',
    'lost',
    'longest gap',
    'unanswered',
    'cancelled',
  ]
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  return [head, ...rows]
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .join('\n')
}

function sum(reports: readonly RoundReport[], of: (report: RoundReport) => number): number {
  return reports.reduce((total, report) => total + of(report), 0)
}
