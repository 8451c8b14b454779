// After the last fault everything must come to its end by itself. Time is not waited for where it only means patience: a
// delivery whose next try is minutes away is due at once.

import { setTimeout as delay } from 'node:timers/promises'
import { type Db, sql } from '../../../src/kit/db/db.ts'

/** What is not at its end yet. */
export interface Unfinished {
  payments: number
  refunds: number
  deliveries: number
}

/** When each kind was at its end, in milliseconds since the beginning; null when it was not. */
export type CompletionTimes = Record<keyof Unfinished, number | null>

const countUnfinished = sql<Unfinished>`
select
  (select count(*)::integer from payments where status in ('pending', 'processing')) as payments,
  (select count(*)::integer from refunds where status = 'pending') as refunds,
  (select count(*)::integer from deliveries where status = 'pending') as deliveries`

// One that somebody has in hand is left alone: it is due when the lease ends.
const makeDeliveriesDue = sql`
update deliveries
set due_at = now()
where status = 'pending' and due_at > now() and (leased_until is null or leased_until < now())`

const POLL_EVERY_MS = 200

/** Waits until nothing is unfinished, and no longer than the limit since then. */
export async function awaitQuiescence(db: Db, since: number, limitMs: number): Promise<CompletionTimes> {
  const ends: CompletionTimes = { payments: null, refunds: null, deliveries: null }
  for (;;) {
    await db.query(makeDeliveriesDue)
    const [left] = await db.query(countUnfinished)
    const sinceMs = Date.now() - since
    for (const kind of ['payments', 'refunds', 'deliveries'] as const)
      ends[kind] = left?.[kind] === 0 ? (ends[kind] ?? sinceMs) : null
    if (Object.values(ends).every((end) => end !== null) || sinceMs > limitMs) return ends
    await delay(POLL_EVERY_MS)
  }
}
