// npm run simulate: runs any number of schedules of the money path in simulated time, and then every mutant until it is
// detected. Prints the seed of every failure.

import { parseOptions, parsePositiveInteger } from '../../support/command-line.ts'
import { MUTANTS } from './mutants.ts'
import { runSchedule } from './schedule.ts'

const HELP = `npm run simulate [-- --schedules 100000] [-- --seed N] [-- --verbose] [-- --no-mutants] [-- --json]

Runs schedules: the real money path over a simulated database, simulated gateways and simulated time, with faults of
every kind. A seed determines its schedule; the first seed is random unless it is given.

  --schedules N  number of schedules (10,000)
  --seed N       the seed of the first one; the others follow
  --verbose      print every event, for one schedule that failed
  --no-mutants   leave the mutants out
  --json         one JSON document instead of the lines
  --help         this text
`

const options = parseOptions(HELP, {
  schedules: { type: 'string', default: '10000' },
  seed: { type: 'string' },
  verbose: { type: 'boolean', default: false },
  mutants: { type: 'boolean', default: true },
  json: { type: 'boolean', default: false },
})

const MAX_SCHEDULES_PER_MUTANT = 50_000
// A terminal shows one line that is rewritten, a file all of them.
const REPORT_EVERY_MS = process.stderr.isTTY ? 2_000 : 15_000

// With --json only the document goes to the standard output.
const show = (line: string) => void (options.json ? process.stderr : process.stdout).write(`${line}\n`)

await simulate(parsePositiveInteger('schedules', options.schedules), readSeed())

function readSeed(): number {
  return options.seed === undefined
    ? Math.floor(Math.random() * 2 ** 40)
    : parsePositiveInteger('seed', options.seed)
}

async function simulate(schedules: number, firstSeed: number): Promise<void> {
  show(`${schedules.toLocaleString('en')} schedules from seed ${firstSeed}`)
  const results = await runSchedules(schedules, firstSeed)
  const mutants = options.mutants && !options.verbose ? await runMutants(firstSeed) : []
  const document = { schedules, firstSeed, ...results, mutants }
  if (options.json) process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
  const isUndetected = mutants.some((one) => one.detectedAfter === null)
  if (results.failures.length > 0 || isUndetected) process.exitCode = 1
}

interface Failure {
  seed: number
  violations: readonly string[]
}

async function runSchedules(schedules: number, firstSeed: number) {
  const totals = { events: 0, payments: 0, executions: 0, kills: 0 }
  const failures: Failure[] = []
  const reportProgress = createProgress(schedules)
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const result = await runSchedule(seed, options.verbose ? { onEvent: printEvent } : {})
    totals.events += result.events
    totals.payments += result.payments
    totals.executions += result.executions
    totals.kills += result.kills
    if (result.violations.length > 0) {
      failures.push({ seed, violations: result.violations })
      show(`\nseed ${seed}: ${result.violations.join('\n  ')}`)
    }
    await reportProgress(seed - firstSeed + 1, failures.length)
  }
  const { events, payments, executions, kills } = totals
  const count = (number: number) => number.toLocaleString('en')
  show(
    `${count(payments)} payments, ${count(executions)} executions, ${count(kills)} kills, ${count(events)} events: ${count(failures.length)} schedules with violations`,
  )
  return { ...totals, failures }
}

function printEvent(atMs: number, label: string): void {
  show(`${new Date(atMs).toISOString()} ${label}`)
}

/** The progress and the remaining time. */
function createProgress(total: number): (done: number, failures: number) => Promise<void> {
  const startedAt = performance.now()
  let reportedAtMs = startedAt
  return async (done, failures) => {
    const now = performance.now()
    if (now - reportedAtMs < REPORT_EVERY_MS && done < total) return
    reportedAtMs = now
    const leftSeconds = Math.round((((now - startedAt) / done) * (total - done)) / 1_000)
    const share = Math.floor((done / total) * 100)
    const line = `${share} % · ${done} of ${total} · ${failures} failed · ${leftSeconds} s left`
    const isLast = done === total || !process.stderr.isTTY
    process.stderr.write(`${process.stderr.isTTY ? '\r' : ''}${line}   ${isLast ? '\n' : ''}`)
    // A turn of the real event loop, so that the line is written and signals are handled.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** The number of schedules until each mutant was detected; null when it was not. */
async function runMutants(firstSeed: number) {
  show(`\n${MUTANTS.length} mutants, each until it is detected:`)
  const mutants: { name: string; detectedAfter: number | null }[] = []
  for (const { name, mutation } of MUTANTS) {
    const found = await detectMutant(mutation, firstSeed)
    mutants.push({ name, detectedAfter: found?.schedules ?? null })
    const result = found ? `${found.schedules} schedules: ${found.violation}` : 'NOT DETECTED'
    show(`  ${name.padEnd(34)} ${result}`)
  }
  return mutants
}

async function detectMutant(mutation: (typeof MUTANTS)[number]['mutation'], firstSeed: number) {
  for (let schedules = 1; schedules <= MAX_SCHEDULES_PER_MUTANT; schedules += 1) {
    const { violations } = await runSchedule(firstSeed + schedules - 1, { mutation })
    const [violation] = violations
    if (violation !== undefined) return { schedules, violation: violation.split('\n')[0]?.slice(0, 90) }
  }
  return undefined
}
