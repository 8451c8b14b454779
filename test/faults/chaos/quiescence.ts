// After the last fault all work must complete without help. Long backoffs are skipped: a delivery whose next attempt is
// minutes away is made due at once.

import { setTimeout as delay } from 'node:timers/promises'
import { type Db, sql } from '../../../src/kit/db/db.ts'

/** Work that is not complete yet. */
export interface Unfinished {
  payments: number
  refunds: number
  deliveries: number
}

/** When each kind was complete, in milliseconds since the start; null when it was not. */
export type CompletionTimes = Record<keyof Unfinished, number | null>

const countUnfinished = sql<Unfinished>`
select
  (select count(*)::integer from payments where status in ('pending', 'processing')) as payments,
  (select count(*)::integer from refunds where status = 'pending') as refunds,
  (select count(*)::integer from deliveries where status = 'pending') as deliveries`

// A leased delivery is left alone: it is due when the lease ends.
const makeDeliveriesDue = sql`
update deliveries
set due_at = now()
where status = 'pending' and due_at > now() and (leased_until is null or leased_until < now())`

const POLL_EVERY_MS = 200

/** Waits until no work is unfinished, up to the limit. */
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
