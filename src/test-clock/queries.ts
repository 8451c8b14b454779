// The statements of the test clock beside those that advance it: its lease, what the provider reports as changed, and what
// is due.

import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import { isUnleased } from './advance-queries.ts'

const leaseClockStatement = sql<unknown>`
insert into test_clocks as c (merchant_id, advanced_ms, advancing_until)
values ($1, 0, $3)
on conflict (merchant_id) do update
set advancing_until = $3
where c.advancing_until is null or c.advancing_until <= $2
returning 1`

/** False while another request advances the clock: their steps would wait for each other's row locks. */
export async function leaseClock(db: Db, merchantId: string, now: Date, until: Date): Promise<boolean> {
  return (await db.query(leaseClockStatement, [merchantId, now, until])).length > 0
}

const releaseClockStatement = sql<unknown>`
update test_clocks
set advancing_until = null
where merchant_id = $1 and advancing_until = $2`

export async function releaseClock(db: Db, merchantId: string, leasedUntil: Date): Promise<void> {
  await db.query(releaseClockStatement, [merchantId, leasedUntil])
}

// What the provider reports as changed is polled at once, as after its webhook.
const wakeRefunds = sql<unknown>`
update refunds
set due_at = $2, polls = 0
where merchant_id = $1
  and attempt_key = any ($3::text[])
  and (due_at > $2 or (due_at is null and status = 'successful' and status_reason is null))`

const wakeAttempts = sql<unknown>`
update attempts
set due_at = $2, polls = 0
where merchant_id = $1
  and gateway_key = any ($3::text[])
  and status in ('started', 'awaiting_customer', 'succeeded', 'duplicate_success')
  and (due_at is null or due_at > $2)`

/** In two statements: while one waits for the lock of a row, no request may wait for a row of the other table. */
export async function wakeByKeys(db: Db, merchantId: string, now: Date, keys: string[]): Promise<void> {
  if (keys.length === 0) return
  await db.query(wakeRefunds, [merchantId, now, keys])
  await db.query(wakeAttempts, [merchantId, now, keys])
}

export interface ClockRow {
  advancedMs: bigint
  advancedAt: Date | null
  nextDueAt: Date | null
  /** The next end of an open checkout. */
  nextExpiryAt: Date | null
  isBusy: boolean
}

// A checkout of the status pending that has passed its end, and an attempt with the time of the lease, are in the hands of
// a background job. $3 is the length of that lease.
const selectClock = sql<ClockRow>`
with due as (
  select due_at as at, expires_at, status = 'pending' and expires_at <= $2::timestamptz as is_running
  from payments
  where merchant_id = $1 and due_at is not null
  union all
  select due_at, null, coalesce(due_at - polled_at = $3::bigint * interval '1 millisecond', false)
  from attempts
  where merchant_id = $1 and due_at is not null
  union all
  select refund_due_at, null, false
  from attempts
  where merchant_id = $1 and refund_due_at is not null
  union all
  select due_at, null, false
  from refunds
  where merchant_id = $1 and due_at is not null
  union all
  select due_at, null, false
  from pending_settlements
  where merchant_id = $1
  union all
  select expires_at, null, false
  from payment_methods
  where merchant_id = $1 and status = 'active' and expires_at is not null
  union all
  select due_at, null, false
  from payment_links
  where merchant_id = $1 and due_at is not null
  union all
  select due_at, null, false
  from p2p_transfers
  where merchant_id = $1 and due_at is not null
  union all
  select d.due_at, null, not ${isUnleased('d')}
  from deliveries d
  where d.merchant_id = $1 and d.due_at is not null
)
select
  coalesce((select advanced_ms from test_clocks where merchant_id = $1), 0) as "advancedMs",
  (select advanced_at from test_clocks where merchant_id = $1) as "advancedAt",
  min(at) filter (where at > $2 and not is_running) as "nextDueAt",
  min(expires_at) filter (where expires_at > $2) as "nextExpiryAt",
  coalesce(bool_or(at <= $2 or is_running), false) as "isBusy"
from due`

/** `isBusy`: something is due, or a background job is working on it. */
export async function readClockRow(
  db: Db,
  merchantId: string,
  now: Date,
  attemptLeaseMs: number,
): Promise<ClockRow> {
  const row = await firstRow(db, selectClock, [merchantId, now, attemptLeaseMs])
  if (!row) throw new Error('an aggregate without groups returned no row')
  return row
}
