// Every statement that schedules and claims the status check of an attempt, and stores what it says about a paid one.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { ATTEMPT_COLUMNS, type AttemptRow } from '../payments/attempt.ts'
import type { PaymentRow } from '../payments/payment.ts'

const rescheduleAttemptStatement = sql<unknown>`
update attempts
set
  due_at = case when due_at = $4 then $5 else due_at end,
  gateway_reference = coalesce($6, gateway_reference),
  settles_by = coalesce($7, settles_by)
where merchant_id = $1 and id = $2 and fence = $3`

/**
 * Sets the next poll, or null for none, and what a pending outcome says. A no-op if another process has claimed the attempt
 * since. If a webhook has made the attempt due since, its time stays: it may report what happened after our check.
 */
export async function rescheduleAttempt(
  db: Db,
  attempt: AttemptRow,
  dueAt: Date | null,
  { gatewayReference, settlesBy }: { gatewayReference: string | null; settlesBy: Date | null },
): Promise<void> {
  const { merchantId, id, fence, dueAt: leasedUntil } = attempt
  const values = [merchantId, id, fence, leasedUntil, dueAt, gatewayReference, settlesBy]
  await db.query(rescheduleAttemptStatement, values)
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

const linkMethodStatement = sql<unknown>`
update payments
set payment_method_id = $3
where merchant_id = $1 and id = $2`

export async function linkMethod(
  tx: Tx,
  { merchantId, id }: Pick<PaymentRow, 'merchantId' | 'id'>,
  methodId: string,
): Promise<void> {
  await tx.query(linkMethodStatement, [merchantId, id, methodId])
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

// The payment is written too, so that a move that was decided before does not win (payments/move-queries.ts). If it has moved
// since the statement began, no row is returned and no call is made.
const startCompletionStatement = sql<AttemptRow>`
with started as (
  update attempts a
  set
    completion_started_at = $4,
    gateway_reference = $5,
    status = case when a.operation = 'checkout' then 'awaiting_customer' else a.status end,
    due_at = $6
  from payments p
  where a.merchant_id = $1
    and a.id = $2
    and a.fence = $3
    and a.completion_started_at is null
    and a.status in ('started', 'awaiting_customer')
    and p.merchant_id = a.merchant_id
    and p.id = a.payment_id
    and p.status = 'processing'
    and p.attempts_used = a.number
    and (p.expires_at is null or p.expires_at > $4)
    and p.status_reason is distinct from 'customer_cancelled'
    and not exists (
      select 1
      from customers c
      where c.merchant_id = p.merchant_id and c.id = p.customer_id and c.status = 'blocked'
    )
    and (
      a.operation = 'checkout'
      -- Not exists: PostgreSQL could read all methods of the merchant for it.
      or 'active' = (
        select m.status
        from payment_methods m
        where m.merchant_id = p.merchant_id and m.id = a.payment_method_id
      )
      or a.payment_method_id is null and 'active' = (
        select m.status
        from payment_methods m
        where m.merchant_id = p.merchant_id and m.id = p.payment_method_id
      )
    )
  returning ${ATTEMPT_COLUMNS}
),
uncertain as (
  update payments p
  set status_reason = case when p.status_reason = 'needs_review' then p.status_reason else 'outcome_unknown' end
  from started s
  where p.merchant_id = $1
    and p.id = s."paymentId"
    and p.status = 'processing'
    and p.status_reason is distinct from 'customer_cancelled'
  returning p.id
)
select s.*
from started s
join uncertain u on u.id = s."paymentId"`

/**
 * Records that the completing call begins, for one process at a time, and until when it is leased. Undefined if it must not
 * be made: it was begun before, or the checkout has expired or was cancelled, or the charge is not allowed any more.
 */
export async function startCompletion(
  db: Db,
  { merchantId, id, fence }: AttemptRow,
  gatewayReference: string,
  at: Date,
  leaseUntil: Date,
): Promise<AttemptRow | undefined> {
  const values = [merchantId, id, fence, at, gatewayReference, leaseUntil]
  return (await db.query(startCompletionStatement, values))[0]
}

const endCompletionStatement = sql<unknown>`
with ended as (
  update attempts
  set completion_started_at = case when $4 then null else completion_started_at end
  where merchant_id = $1
    and id = $2
    and completion_started_at = $3
    and status in ('started', 'awaiting_customer')
  returning payment_id, number, operation
)
update payments p
set status_reason = 'awaiting_customer'
from ended e
where p.merchant_id = $1
  and p.id = e.payment_id
  and p.status = 'processing'
  and p.attempts_used = e.number
  and p.status_reason = 'outcome_unknown'
  and e.operation = 'checkout'`

/** The payer may act again: the completing call has executed nothing. It may be made again only if that is proven. */
export async function endCompletion(
  db: Db,
  { merchantId, id, completionStartedAt }: AttemptRow,
  { isRepeatable }: { isRepeatable: boolean },
): Promise<void> {
  await db.query(endCompletionStatement, [merchantId, id, completionStartedAt, isRepeatable])
}
