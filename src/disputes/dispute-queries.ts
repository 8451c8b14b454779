// Every statement over disputes.

import { sql, type Tx } from '../kit/db/db.ts'
import { DISPUTE, type DisputeRow } from './dispute.ts'

export const selectDisputes = sql<DisputeRow>`
select ${DISPUTE.select()}
from disputes
where merchant_id = $1 and payment_id = $2
order by opened_at, id`

// No `on conflict`: of two concurrent inserts of one dispute, the second transaction fails as a whole and is retried.
const insertDisputeStatement = sql<unknown>`
insert into disputes (${DISPUTE.list()})
values (${DISPUTE.placeholders()})`

export async function insertDispute(tx: Tx, dispute: DisputeRow): Promise<void> {
  await tx.query(insertDisputeStatement, DISPUTE.values(dispute))
}

const updateDisputeStatement = sql<unknown>`
update disputes
set status = $3, claimed_minor = $4, amount_minor = $5, closed_at = $6
where merchant_id = $1 and id = $2`

/** The caller holds the lock of the payment's row. */
export async function updateDispute(tx: Tx, dispute: DisputeRow): Promise<void> {
  const { merchantId, id, status, claimedMinor, amountMinor, closedAt } = dispute
  await tx.query(updateDisputeStatement, [merchantId, id, status, claimedMinor, amountMinor, closedAt])
}

const setDeadlineStatement = sql<unknown>`
update disputes
set respond_by = $4
where merchant_id = $1
  and payment_id = $2
  and gateway_reference = $3
  and status = 'open'
  and respond_by is distinct from $4`

export async function setDeadline(
  tx: Tx,
  { merchantId, paymentId, gatewayReference }: DisputeRow,
  respondBy: Date | null,
): Promise<void> {
  await tx.query(setDeadlineStatement, [merchantId, paymentId, gatewayReference, respondBy])
}

// Refunds update the payment's row too, so the remaining amount is read under the row lock of the move.
const selectRemainingStatement = sql<{ remainingMinor: bigint }>`
select
  (
    coalesce(p.amount_paid_minor, 0) - p.refunded_minor - p.refund_reserved_minor
    - (
      select coalesce(sum(d.amount_minor), 0)
      from disputes d
      where d.merchant_id = p.merchant_id and d.payment_id = p.id and d.status = 'lost'
    )
  )::bigint as "remainingMinor"
from payments p
where p.merchant_id = $1 and p.id = $2`

/** The paid amount minus refunds, reserved refunds and lost disputes. */
export async function readRemainingMinor(tx: Tx, merchantId: string, paymentId: string): Promise<bigint> {
  const [row] = await tx.query(selectRemainingStatement, [merchantId, paymentId])
  return row?.remainingMinor ?? 0n
}

// If a webhook has made the attempt due since, its earlier time stays.
const scheduleDisputePollStatement = sql<unknown>`
update attempts
set due_at = $4, polls = 0
where merchant_id = $1 and id = $2 and (due_at is null or due_at > $3)`

/** Makes the resolver poll an attempt that has succeeded, at that time. */
export async function scheduleDisputePoll(
  tx: Tx,
  merchantId: string,
  attemptId: string,
  now: Date,
  dueAt: Date,
): Promise<void> {
  await tx.query(scheduleDisputePollStatement, [merchantId, attemptId, now, dueAt])
}
