// The test clock of staging: lets time pass for one merchant. Its scheduled times come nearer step by step, and what
// becomes due is done at once, by the code of the background jobs. So retries and their follow-ups happen in their order.
// Time itself stays real: every record has the real time at which it was written. See docs/decisions/0019-test-clock.md.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { SandboxGateway } from '../gateways/sandbox/index.ts'
import { addMs } from '../kit/clock.ts'
import { type Job, runJobsNow } from '../kit/jobs.ts'
import type { Counters } from '../kit/observability/counters.ts'
import { resolverLeaseEnd } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { addTime, listScheduled, moveScheduled, type ScheduledRow } from './advance-queries.ts'
import { leaseClock, readClockRow, releaseClock, wakeByKeys } from './queries.ts'

export interface TestClockApp extends PaymentsApp {
  sandbox: SandboxGateway
  counters: Counters
  /** The jobs of everything that is due at a time. Inside the merchant's request they see its rows only. */
  dueJobs: () => Job[]
}

export interface TestClock {
  now: Date
  advancedMs: number
  advancedAt: Date | null
  nextDueAt: Date | null
  /** False: something is due, or in progress in the background. */
  isCaughtUp: boolean
}

export async function readTestClock(app: TestClockApp, merchant: Merchant): Promise<TestClock> {
  return (await readState(app, merchant)).clock
}

interface State {
  clock: TestClock
  /** When a checkout expires, or something happens at the provider: what comes first decides the outcome. */
  nextDeadline: Date | null
}

async function readState(app: TestClockApp, { id }: Merchant): Promise<State> {
  const { nextAt } = await app.sandbox.advanceClock(id, 0)
  const now = app.clock.now()
  const leaseMs = resolverLeaseEnd(app, now).getTime() - now.getTime()
  const row = await readClockRow(app.db, id, now, leaseMs)
  const nextPlan = nextAt === null ? null : new Date(nextAt)
  const { advancedMs, advancedAt, isBusy } = row
  const nextDueAt = earliest(row.nextDueAt, nextPlan)
  return {
    clock: { now, advancedMs: Number(advancedMs), advancedAt, nextDueAt, isCaughtUp: !isBusy },
    nextDeadline: earliest(row.nextExpiryAt, nextPlan),
  }
}

// The longest time for which the request waits: less than the ten seconds of many HTTP clients. What is left then is due at
// once, and the background does it.
const BUDGET_MS = 8_000

// Backoffs grow faster than this share of the time that has passed, so retries are made one by one. Steady polls get rarer:
// even years take less than a hundred steps.
const MIN_STEP_SHARE = 0.25
const MIN_STEP_MS = 1_000

// Longer than a request advances, also if it waits for the database.
const LEASE_MS = 60_000

/** Lets time pass for the merchant, and does everything that becomes due. One request at a time; others wait for it. */
export async function advanceTestClock(
  app: TestClockApp,
  merchant: Merchant,
  ms: number,
): Promise<TestClock> {
  const leasedUntil = await waitForLease(app, merchant)
  try {
    return await advanceInSteps(app, merchant, ms)
  } finally {
    await releaseClock(app.db, merchant.id, leasedUntil)
  }
}

async function waitForLease(app: TestClockApp, { id }: Merchant): Promise<Date> {
  const deadline = addMs(app.clock.now(), BUDGET_MS)
  for (;;) {
    const now = app.clock.now()
    const until = addMs(now, LEASE_MS)
    if (await leaseClock(app.db, id, now, until)) return until
    if (now >= deadline)
      throw new ApiError('invalid_state', {
        message: 'Another request is advancing the clock; try again when it has ended.',
      })
    await app.clock.sleep(POLL_MS)
  }
}

async function advanceInSteps(app: TestClockApp, merchant: Merchant, ms: number): Promise<TestClock> {
  const deadline = addMs(app.clock.now(), BUDGET_MS)
  const jobs = app.dueJobs()
  let state = await catchUp(app, merchant, jobs, deadline)
  for (let passedMs = 0; passedMs < ms; ) {
    const stepMs = state.clock.now < deadline ? nextStepMs(state, passedMs) : ms
    const boundedMs = Math.min(stepMs, ms - passedMs)
    await step(app, merchant, boundedMs)
    passedMs += boundedMs
    state = await catchUp(app, merchant, jobs, deadline)
  }
  return state.clock
}

/** To the next deadline exactly, and to other due times in steps of at least a share of the time that has passed. */
function nextStepMs({ clock, nextDeadline }: State, passedMs: number): number {
  const msTo = (time: Date | null) =>
    time === null ? Number.POSITIVE_INFINITY : time.getTime() - clock.now.getTime()
  const toDueMs = Math.max(msTo(clock.nextDueAt), passedMs * MIN_STEP_SHARE)
  return Math.max(Math.ceil(Math.min(toDueMs, msTo(nextDeadline))), MIN_STEP_MS)
}

async function step(app: TestClockApp, { id }: Merchant, ms: number): Promise<void> {
  const now = app.clock.now()
  await addTime(app.db, id, now, ms)
  await moveAll(app, id, { now, ms })
  const { changed } = await app.sandbox.advanceClock(id, ms)
  await wakeByKeys(app.db, id, app.clock.now(), changed)
}

// Small, so that a request which needs one of these rows waits for a few milliseconds.
const PART_SIZE = 100
const RETRY_MS = 10
// Longer than a connection may hold a lock.
const MAX_ROUNDS = 2_000

/** Lets the time pass for everything that is scheduled now. Rows that requests have locked come last. */
async function moveAll(app: TestClockApp, id: string, step: { now: Date; ms: number }): Promise<void> {
  let left = await listScheduled(app.db, id)
  for (let round = 0; left.length > 0; round += 1) {
    if (round === MAX_ROUNDS) throw new ApiError('temporarily_unavailable')
    if (round > 0) await app.clock.sleep(RETRY_MS)
    const locked: ScheduledRow[] = []
    for (const [table, rows] of partsOf(left))
      locked.push(...(await moveScheduled(app.db, id, step, table, rows)))
    left = locked
  }
}

type Part = [ScheduledRow['table'], ScheduledRow[]]

function partsOf(rows: readonly ScheduledRow[]): Part[] {
  const byTable = [...Map.groupBy(rows, ({ table }) => table)]
  return byTable.flatMap(([table, ofTable]) =>
    Array.from(
      { length: Math.ceil(ofTable.length / PART_SIZE) },
      (_, n): Part => [table, ofTable.slice(n * PART_SIZE, (n + 1) * PART_SIZE)],
    ),
  )
}

const POLL_MS = 25

/** Does what is due, and waits for what a background job has claimed, until nothing is due or the time is over. */
async function catchUp(
  app: TestClockApp,
  merchant: Merchant,
  jobs: readonly Job[],
  deadline: Date,
): Promise<State> {
  for (;;) {
    const done = await runUntil(app, jobs, deadline)
    const state = await readState(app, merchant)
    if (state.clock.isCaughtUp || state.clock.now >= deadline) return state
    if (done === 0) await app.clock.sleep(POLL_MS)
  }
}

/** Runs the jobs. After the deadline they continue without the request, such as a call to an endpoint that hangs. */
async function runUntil(app: TestClockApp, jobs: readonly Job[], deadline: Date): Promise<number> {
  const finished = new AbortController()
  const leftMs = Math.max(deadline.getTime() - app.clock.now().getTime(), 0)
  try {
    return await Promise.race([runJobsNow(app, jobs), app.clock.sleep(leftMs, finished.signal).then(() => 0)])
  } finally {
    finished.abort()
  }
}

function earliest(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}
