// The test clock of staging: lets time pass for one merchant. Its scheduled times come nearer step by step, and what
// becomes due is done at once, by the code of the background jobs. So retries and their follow-ups happen in their order.
// Time itself stays real: every record has the real time at which it was written. See docs/decisions/0019-test-clock.md.

import type { Merchant } from '../core/merchant.ts'
import type { SandboxGateway } from '../gateways/sandbox/index.ts'
import { addMs } from '../kit/clock.ts'
import { type Job, runJobsNow } from '../kit/jobs.ts'
import type { Counters } from '../kit/observability/counters.ts'
import { resolverLeaseEnd } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { advanceTimes, readClockRow, wakeByKeys } from './queries.ts'

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
  const { nextAt } = await app.sandbox.advanceClock(merchant.id, 0)
  const now = app.clock.now()
  const row = await readRow(app, merchant, now)
  const nextDueAt = earliest(row.nextDueAt, nextAt === null ? null : new Date(nextAt))
  const { advancedMs, advancedAt, isBusy } = row
  return { now, advancedMs: Number(advancedMs), advancedAt, nextDueAt, isCaughtUp: !isBusy }
}

// The longest time for which the request waits. What is left then is due at once, and the background does it.
const BUDGET_MS = 10_000

// Backoffs grow at least this fast, so their retries are made one by one; steady polls get rarer, and a year takes less
// than two hundred steps.
const MIN_STEP_SHARE = 0.1
const MIN_STEP_MS = 1_000

/** Lets time pass for the merchant, and does everything that becomes due. */
export async function advanceTestClock(
  app: TestClockApp,
  merchant: Merchant,
  ms: number,
): Promise<TestClock> {
  const deadline = addMs(app.clock.now(), BUDGET_MS)
  const jobs = app.dueJobs()
  let current = await catchUp(app, merchant, jobs, deadline)
  for (let passedMs = 0; passedMs < ms; ) {
    const stepMs = nextStepMs(current, passedMs, ms, current.now >= deadline)
    await step(app, merchant, stepMs)
    passedMs += stepMs
    current = await catchUp(app, merchant, jobs, deadline)
  }
  return current
}

/** To the next due time, at least a share of the time that has passed, at most to the end. */
function nextStepMs(
  { now, nextDueAt }: TestClock,
  passedMs: number,
  totalMs: number,
  isLate: boolean,
): number {
  const leftMs = totalMs - passedMs
  if (nextDueAt === null || isLate) return leftMs
  const toNextMs = Math.max(nextDueAt.getTime() - now.getTime(), MIN_STEP_MS, passedMs * MIN_STEP_SHARE)
  return Math.min(Math.ceil(toNextMs), leftMs)
}

async function step(app: TestClockApp, { id }: Merchant, ms: number): Promise<void> {
  await advanceTimes(app.db, id, app.clock.now(), ms)
  const { changed } = await app.sandbox.advanceClock(id, ms)
  await wakeByKeys(app.db, id, app.clock.now(), changed)
}

const POLL_MS = 25

/** Does what is due, and waits for what a background job has claimed, until nothing is due or the time is over. */
async function catchUp(
  app: TestClockApp,
  merchant: Merchant,
  jobs: readonly Job[],
  deadline: Date,
): Promise<TestClock> {
  for (;;) {
    while ((await runJobsNow(app, jobs)) > 0 && app.clock.now() < deadline);
    const current = await readTestClock(app, merchant)
    if (current.isCaughtUp || current.now >= deadline) return current
    await app.clock.sleep(POLL_MS)
  }
}

function readRow(app: TestClockApp, { id }: Merchant, now: Date) {
  const leaseMs = resolverLeaseEnd(app, now).getTime() - now.getTime()
  return readClockRow(app.db, id, now, leaseMs)
}

function earliest(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}
