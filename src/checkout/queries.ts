// Every statement that changes an attempt or the end of a checkout on behalf of the payer.

import type { NextStep } from '../gateways/gateway.ts'
import { type Db, sql } from '../kit/db/db.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { StatusReason } from '../payments/states.ts'

const updateAwaitingCustomerStatement = sql<{ id: string }>`
with awaiting as (
  update attempts
  set
    status = 'awaiting_customer',
    gateway_reference = coalesce($4, gateway_reference),
    next_step = coalesce($5::jsonb, next_step),
    due_at = $6
  where merchant_id = $1 and id = $2 and fence = $3 and status in ('started', 'awaiting_customer')
  returning id, payment_id
)
update payments p
set status_reason = coalesce(nullif(p.status_reason, 'outcome_unknown'), 'awaiting_customer')
from awaiting a
where p.merchant_id = $1 and p.id = a.payment_id and p.status = 'processing'
returning a.id`

/** The gateway has accepted the attempt and the payer must act. */
export async function updateAwaitingCustomer(
  db: Db,
  attempt: AttemptRow,
  gatewayReference: string | null,
  nextStep: NextStep | null,
  dueAt: Date | null,
): Promise<void> {
  await db.query(updateAwaitingCustomerStatement, [
    attempt.merchantId,
    attempt.id,
    attempt.fence,
    gatewayReference,
    nextStep === null ? null : JSON.stringify(nextStep),
    dueAt,
  ])
}

const markSentOrReturnedStatement = sql<unknown>`
update attempts
set
  sent_at = case when $3 = 'sent' then coalesce(sent_at, $4) else sent_at end,
  returned_at = case when $3 = 'returned' then coalesce(returned_at, $4) else returned_at end
where merchant_id = $1 and id = $2`

/** Records when the payer reported the money as sent, or returned; the first time counts. */
export async function markSentOrReturned(
  db: Db,
  { merchantId, id }: AttemptRow,
  event: 'sent' | 'returned',
  at: Date,
): Promise<void> {
  await db.query(markSentOrReturnedStatement, [merchantId, id, event, at])
}

// No move: the payment stays payable. The version stays, and only the reason that the caller has read is replaced.
const setOpenReasonStatement = sql<unknown>`
update payments
set status_reason = $4
where merchant_id = $1
  and id = $2
  and version = $3
  and kind = 'checkout'
  and status in ('pending', 'processing')
  and status_reason is not distinct from $5
  and expires_at = $6`

/** Sets or clears the reason of an open checkout. A no-op if the checkout has changed since it was read. */
export async function setOpenReason(db: Db, payment: PaymentRow, reason: StatusReason | null): Promise<void> {
  const { merchantId, id, version, statusReason, expiresAt } = payment
  await db.query(setOpenReasonStatement, [merchantId, id, version, reason, statusReason, expiresAt])
}

// The version stays: it counts moves, and each move has its event. A move to expired compares expires_at itself
// (payments/move-queries.ts), so an expiry that was decided before the extension does not win.
const extendExpiryStatement = sql<unknown>`
update payments
set expires_at = $4, due_at = $4
where merchant_id = $1
  and id = $2
  and kind = 'checkout'
  and status = 'pending'
  and expires_at > $3
  and expires_at < $4`

/** Extends an open checkout. A no-op if it has ended, or ends later anyway. */
export async function extendExpiry(
  db: Db,
  merchantId: string,
  id: string,
  now: Date,
  expiresAt: Date,
): Promise<void> {
  await db.query(extendExpiryStatement, [merchantId, id, now, expiresAt])
}
