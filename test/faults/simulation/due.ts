// When the background has something to do. A job that would look and find nothing need not look: it sleeps on until the
// books say that something is due, which is what makes an hour of simulated time cheap.

import type { Chance } from './chance.ts'
import { timeOf } from './model/statement.ts'
import type { Row, Store } from './model/store.ts'

const earliest = (rows: readonly Row[], column: string) =>
  rows.reduce((least, row) => Math.min(least, timeOf(row[column])), Number.POSITIVE_INFINITY)

/** By the name of the job: from when on it finds something. */
const DUE: Record<string, (store: Store) => number> = {
  'resolve-attempts': (store) => earliest(store.rows('attempts'), 'due_at'),
  'expire-checkouts': (store) => earliest(store.rows('payments'), 'due_at'),
  'retry-gateway-webhooks': (store) => earliest(store.rows('gateway_webhooks'), 'due_at'),
  'resolve-refunds': (store) => earliest(store.rows('refunds'), 'due_at'),
  'refund-duplicates': (store) => earliest(store.rows('attempts'), 'refund_due_at'),
  'settle-money': (store) => earliest(store.rows('pending_settlements'), 'due_at'),
  'fold-balances': (store) => (store.rows('balance_deltas').length > 0 ? 0 : Number.POSITIVE_INFINITY),
}

const dueOf = (store: Store, job: string) => DUE[job]?.(store) ?? Number.POSITIVE_INFINITY

/**
 * The jobs that take part; the others only tidy up after weeks. Settling draws hundreds of ids whatever is due, and
 * folding is no risk to anybody, so one machine does both for all.
 */
export function takesPart(job: string, machine: string): boolean {
  return job in DUE && (machine === 'one' || !['settle-money', 'fold-balances'].includes(job))
}

export interface Alarm {
  /** Resolves after the time, and not before this job has something to do. */
  sleep(job: string, ms: number, wake: () => void): void
}

interface Sleeper {
  job: string
  notBeforeMs: number
  /** How long after something is due it looks. */
  lateMs: number
  wake: () => void
}

export interface AlarmClock {
  now(): number
  at(timeMs: number, label: string, run: () => void): void
}

export function createAlarm(store: Store, clock: AlarmClock, chance: Chance): Alarm {
  const asleep = new Set<Sleeper>()
  const planned = new Map<Sleeper, number>()

  const ring = (sleeper: Sleeper) => {
    if (planned.get(sleeper) !== clock.now()) return
    planned.delete(sleeper)
    asleep.delete(sleeper)
    sleeper.wake()
  }
  const plan = (sleeper: Sleeper, due: number) => {
    const atMs = Math.max(sleeper.notBeforeMs, due + sleeper.lateMs, clock.now())
    if (planned.get(sleeper) === atMs) return
    planned.set(sleeper, atMs)
    if (atMs < Number.POSITIVE_INFINITY) clock.at(atMs, `${sleeper.job} wakes`, () => ring(sleeper))
  }
  store.onCommit((changes) => {
    const tables = new Set(changes.map(({ table }) => table))
    if (!WATCHED.some((table) => tables.has(table))) return
    const dues = new Map<string, number>()
    for (const sleeper of asleep) {
      const due = dues.get(sleeper.job) ?? dueOf(store, sleeper.job)
      dues.set(sleeper.job, due)
      plan(sleeper, due)
    }
  })
  return {
    sleep(job, ms, wake) {
      // Machines rarely look in the very same moment, but they may.
      const lateMs = chance.happens(0.3) ? 0 : chance.between(0, 500)
      const sleeper = { job, notBeforeMs: clock.now() + ms, lateMs, wake }
      asleep.add(sleeper)
      plan(sleeper, dueOf(store, job))
    },
  }
}

const WATCHED = [
  ...['attempts', 'payments', 'gateway_webhooks', 'refunds', 'pending_settlements', 'balance_deltas'],
]
