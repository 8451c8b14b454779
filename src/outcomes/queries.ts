// Every statement that schedules and claims the status check of an attempt, and stores what it says about a paid one.

import { type Db, sql } from '../kit/db/db.ts'
import type { AttemptRow } from '../payments/attempt.ts'

const rescheduleAttemptStatement = sql<unknown>`
update attempts
set
  due_at = case when due_at = $4 then $5 else due_at end,
  gateway_reference = coalesce($6, gateway_reference)
where merchant_id = $1 and id = $2 and fence = $3`

/**
 * Sets the next poll, or null for none, and the gateway's reference. A no-op if another process has claimed the attempt
 * since. If a webhook has made the attempt due since, its time stays: it may report what happened after our check.
 */
export async function rescheduleAttempt(
  db: Db,
  attempt: AttemptRow,
  dueAt: Date | null,
  gatewayReference: string | null,
): Promise<void> {
  const { merchantId, id, fence, dueAt: leasedUntil } = attempt
  await db.query(rescheduleAttemptStatement, [merchantId, id, fence, leasedUntil, dueAt, gatewayReference])
}

const saveReceiptNumberStatement = sql<unknown>`
update attempts
set receipt_number = $3
where merchant_id = $1
  and id = $2
  and receipt_number is null
  and status in ('succeeded', 'duplicate_success')`

export async function saveReceiptNumber(
  db: Db,
  { merchantId, id }: AttemptRow,
  receiptNumber: string,
): Promise<void> {
  await db.query(saveReceiptNumberStatement, [merchantId, id, receiptNumber])
}

const claimPollStatement = sql<{ id: string }>`
update attempts
set polled_at = $3
where merchant_id = $1 and id = $2 and (polled_at is null or polled_at <= $4)
returning id`

/** Whether this caller may call the gateway now: one caller per window, over all processes. */
export async function claimPoll(
  db: Db,
  attempt: AttemptRow,
  now: Date,
  polledBefore: Date,
): Promise<boolean> {
  const rows = await db.query(claimPollStatement, [attempt.merchantId, attempt.id, now, polledBefore])
  return rows.length > 0
}
