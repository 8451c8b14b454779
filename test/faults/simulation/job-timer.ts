// When a background job has work. A job that would find nothing sleeps until a row is due, which makes an hour of
// simulated time cheap.

import { timeOf } from './model/statement.ts'
import type { Row, Store } from './model/store.ts'
import type { Prng } from './prng.ts'

const earliest = (rows: readonly Row[], column: string) =>
  rows.reduce((least, row) => Math.min(least, timeOf(row[column])), Number.POSITIVE_INFINITY)

/** By the name of the job: when it next finds work. */
const NEXT_DUE_BY_JOB: Record<string, (store: Store) => number> = {
  'resolve-attempts': (store) => earliest(store.rows('attempts'), 'due_at'),
  'expire-checkouts': (store) => earliest(store.rows('payments'), 'due_at'),
  'retry-gateway-webhooks': (store) => earliest(store.rows('gateway_webhooks'), 'due_at'),
  'resolve-refunds': (store) => earliest(store.rows('refunds'), 'due_at'),
  'refund-duplicates': (store) => earliest(store.rows('attempts'), 'refund_due_at'),
  'settle-money': (store) => earliest(store.rows('pending_settlements'), 'due_at'),
  'fold-balances': (store) => (store.rows('balance_deltas').length > 0 ? 0 : Number.POSITIVE_INFINITY),
}

const nextDueMs = (store: Store, job: string) => NEXT_DUE_BY_JOB[job]?.(store) ?? Number.POSITIVE_INFINITY

/**
 * The jobs that run; the others only purge after weeks. Settling draws hundreds of ids whatever is due, and folding has
 * no races, so one machine runs both.
 */
export function isSimulatedJob(job: string, machine: string): boolean {
  return job in NEXT_DUE_BY_JOB && (machine === 'one' || !['settle-money', 'fold-balances'].includes(job))
}

export interface JobTimer {
  /** Resolves after the time, and not before this job has work. */
  sleep(job: string, ms: number, wake: () => void): void
}

interface WaitingJob {
  job: string
  notBeforeMs: number
  /** The delay between a due row and its job. */
  jitterMs: number
  wake: () => void
}

export interface TimerClock {
  now(): number
  at(timeMs: number, label: string, run: () => void): void
}

export function createJobTimer(store: Store, clock: TimerClock, prng: Prng): JobTimer {
  const waitingJobs = new Set<WaitingJob>()
  const planned = new Map<WaitingJob, number>()

  const fire = (waitingJob: WaitingJob) => {
    if (planned.get(waitingJob) !== clock.now()) return
    planned.delete(waitingJob)
    waitingJobs.delete(waitingJob)
    waitingJob.wake()
  }
  const plan = (waitingJob: WaitingJob, due: number) => {
    const atMs = Math.max(waitingJob.notBeforeMs, due + waitingJob.jitterMs, clock.now())
    if (planned.get(waitingJob) === atMs) return
    planned.set(waitingJob, atMs)
    if (atMs < Number.POSITIVE_INFINITY) clock.at(atMs, `${waitingJob.job} wakes`, () => fire(waitingJob))
  }
  store.onCommit((changes) => {
    const tables = new Set(changes.map(({ table }) => table))
    if (!WATCHED_TABLES.some((table) => tables.has(table))) return
    const dues = new Map<string, number>()
    for (const waitingJob of waitingJobs) {
      const due = dues.get(waitingJob.job) ?? nextDueMs(store, waitingJob.job)
      dues.set(waitingJob.job, due)
      plan(waitingJob, due)
    }
  })
  return {
    sleep(job, ms, wake) {
      // Machines rarely poll at the same moment, but they may.
      const jitterMs = prng.nextBool(0.3) ? 0 : prng.between(0, 500)
      const waitingJob = { job, notBeforeMs: clock.now() + ms, jitterMs, wake }
      waitingJobs.add(waitingJob)
      plan(waitingJob, nextDueMs(store, job))
    },
  }
}

const WATCHED_TABLES = [
  ...['attempts', 'payments', 'gateway_webhooks', 'refunds', 'pending_settlements', 'balance_deltas'],
]
