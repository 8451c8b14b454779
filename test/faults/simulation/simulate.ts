// npm run simulate: plays schedules of the money path in simulated time, as many as one likes, and then every planted
// mistake until it is noticed. Prints the seed of whatever fails.

import { readOptions, wholeNumber } from '../../support/command-line.ts'
import { PLANTED } from './planted.ts'
import { runSchedule } from './schedule.ts'

const HELP = `npm run simulate [-- --schedules 100000] [-- --seed N] [-- --tell] [-- --no-planted]

Plays schedules: the real money path over a simulated database, simulated gateways and simulated time, with everything
going wrong that can. Each is made of its seed alone; the first seed is random unless it is given.

  --schedules N  how many; 10,000 unless given
  --seed N       the seed of the first one; the others follow
  --tell         print every event, for one schedule that failed
  --no-planted   leave the planted mistakes out
  --help         this text
`

const options = readOptions(HELP, {
  schedules: { type: 'string', default: '10000' },
  seed: { type: 'string' },
  tell: { type: 'boolean', default: false },
  planted: { type: 'boolean', default: true },
})

const MOST_PLANTED_SCHEDULES = 50_000
const REPORT_EVERY_MS = 2_000

await simulate(wholeNumber('schedules', options.schedules), readSeed())

function readSeed(): number {
  return options.seed === undefined ? Math.floor(Math.random() * 2 ** 40) : wholeNumber('seed', options.seed)
}

async function simulate(schedules: number, firstSeed: number): Promise<void> {
  console.log(`${schedules.toLocaleString('en')} schedules from seed ${firstSeed}`)
  const failures = await playAll(schedules, firstSeed)
  const missed = options.planted && !options.tell ? await findPlanted(firstSeed) : 0
  if (failures + missed > 0) process.exitCode = 1
}

async function playAll(schedules: number, firstSeed: number): Promise<number> {
  const totals = { events: 0, payments: 0, executions: 0, kills: 0, failures: 0 }
  const tellProgress = createProgress(schedules)
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const result = await runSchedule(seed, options.tell ? { tell: printEvent } : {})
    totals.events += result.events
    totals.payments += result.payments
    totals.executions += result.executions
    totals.kills += result.kills
    if (result.violations.length > 0) {
      totals.failures += 1
      console.log(`\nseed ${seed}: ${result.violations.join('\n  ')}`)
    }
    await tellProgress(seed - firstSeed + 1, totals.failures)
  }
  const { events, payments, executions, kills, failures } = totals
  const count = (number: number) => number.toLocaleString('en')
  console.log(
    `\n${count(payments)} payments, ${count(executions)} executions, ${count(kills)} kills, ${count(events)} events: ${count(failures)} schedules with violations`,
  )
  return failures
}

function printEvent(atMs: number, label: string): void {
  console.log(`${new Date(atMs).toISOString()} ${label}`)
}

/** A line that is written anew, with the time that is left. */
function createProgress(total: number): (done: number, failures: number) => Promise<void> {
  const startedAt = performance.now()
  let toldAt = startedAt
  return async (done, failures) => {
    const now = performance.now()
    if (now - toldAt < REPORT_EVERY_MS && done < total) return
    toldAt = now
    const leftSeconds = Math.round((((now - startedAt) / done) * (total - done)) / 1_000)
    const share = Math.floor((done / total) * 100)
    if (process.stdout.isTTY || done === total)
      process.stdout.write(
        `\r${share} % · ${done} of ${total} · ${failures} failed · ${leftSeconds} s left   `,
      )
    // A turn of the real event loop, so that the line is written and an interruption is heard.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** How many were not noticed. */
async function findPlanted(firstSeed: number): Promise<number> {
  console.log(`\n${PLANTED.length} planted mistakes, each until it is noticed:`)
  let missed = 0
  for (const { name, plant } of PLANTED) {
    const found = await findOne(plant, firstSeed)
    if (!found) missed += 1
    const words = found ? `${found.schedules} schedules: ${found.violation}` : 'NOT NOTICED'
    console.log(`  ${name.padEnd(34)} ${words}`)
  }
  return missed
}

async function findOne(plant: (typeof PLANTED)[number]['plant'], firstSeed: number) {
  for (let schedules = 1; schedules <= MOST_PLANTED_SCHEDULES; schedules += 1) {
    const { violations } = await runSchedule(firstSeed + schedules - 1, { plant })
    const [violation] = violations
    if (violation !== undefined) return { schedules, violation: violation.split('\n')[0]?.slice(0, 90) }
  }
  return undefined
}
