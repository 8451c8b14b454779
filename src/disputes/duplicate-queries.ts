import { sql, type Tx } from '../kit/db.ts'

export interface DuplicateRow {
  merchantId: string
  attemptId: string
  paymentId: string
  /** Somebody was told that it cannot go back. */
  hasOpenCase: boolean
}

const claimDueDuplicatesStatement = sql<DuplicateRow>`
with due as (
  select merchant_id, id
  from attempts
  where refund_due_at <= $1
  order by refund_due_at
  limit $3
  for update skip locked
)
update attempts a
set refund_due_at = $2
from due d
where a.merchant_id = d.merchant_id and a.id = d.id
returning
  a.merchant_id as "merchantId", a.id as "attemptId", a.payment_id as "paymentId",
  exists (
    select 1
    from cases c
    where c.merchant_id = a.merchant_id
      and c.attempt_id = a.id
      and c.kind = 'duplicate_not_refundable'
      and c.closed_at is null
  ) as "hasOpenCase"`
/** Money that came twice and is still here; whoever dies over it gives it back by `leaseUntil`. */
export async function claimDueDuplicates(
  db: Tx,
  now: Date,
  leaseUntil: Date,
  limit: number,
): Promise<DuplicateRow[]> {
  return db.query(claimDueDuplicatesStatement, [now, leaseUntil, limit])
}

const unscheduleDuplicateRefundStatement = sql<{ id: string }>`
update attempts
set refund_due_at = null
where merchant_id = $1 and id = $2 and status = 'duplicate_success' and refund_due_at is not null
returning id`

/** Whether its refund is this transaction's to record. */
export async function unscheduleDuplicateRefund(
  tx: Tx,
  merchantId: string,
  attemptId: string,
): Promise<boolean> {
  return (await tx.query(unscheduleDuplicateRefundStatement, [merchantId, attemptId])).length > 0
}

const scheduleDuplicateRefundStatement = sql<unknown>`
update attempts
set refund_due_at = $3
where merchant_id = $1 and id = $2 and status = 'duplicate_success'`

/** Lets it be sent back from then on. */
export async function scheduleDuplicateRefund(
  tx: Tx,
  merchantId: string,
  attemptId: string,
  at: Date,
): Promise<void> {
  await tx.query(scheduleDuplicateRefundStatement, [merchantId, attemptId, at])
}

const lockAttemptStatement = sql<unknown>`
select id
from attempts
where merchant_id = $1 and id = $2
for no key update`

/** One at a time decides what becomes of it, to the end of the transaction. */
export async function lockAttempt(tx: Tx, merchantId: string, attemptId: string): Promise<void> {
  await tx.query(lockAttemptStatement, [merchantId, attemptId])
}

const updateDuplicateRefundTotalStatement = sql<unknown>`
update attempts
set refunded_minor = refunded_minor + $3
where merchant_id = $1 and id = $2 and status = 'duplicate_success'`

export async function updateDuplicateRefundTotal(
  tx: Tx,
  merchantId: string,
  attemptId: string,
  amountMinor: bigint,
): Promise<void> {
  await tx.query(updateDuplicateRefundTotalStatement, [merchantId, attemptId, amountMinor])
}
