import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { RefundRow } from './refund.ts'

/** The status reason of a payment of which less is refunded than its status says: a refund failed after its success. */
export const REFUND_FAILED = 'refund_failed'

// Only the subtraction of a refund can leave less than the status says, and only another refund can end that.
const updateRefundTotalsStatement = sql<unknown>`
update payments
set
  refunded_minor = refunded_minor + $3,
  refund_reserved_minor = refund_reserved_minor + $4,
  status_reason = case
    when status = 'refunded' and refunded_minor + $3 < amount_paid_minor then '${REFUND_FAILED}'
    when status = 'partially_refunded' and refunded_minor + $3 = 0 then '${REFUND_FAILED}'
    when status_reason = '${REFUND_FAILED}' then null
    else status_reason
  end
where merchant_id = $1 and id = $2`

export async function updateRefundTotals(
  tx: Tx,
  merchantId: string,
  id: string,
  change: { refundedMinor: bigint; reservedMinor: bigint },
): Promise<void> {
  await tx.query(updateRefundTotalsStatement, [merchantId, id, change.refundedMinor, change.reservedMinor])
}

const sumEarlierRefundsStatement = sql<{ minor: bigint }>`
select coalesce(sum(amount_minor), 0)::bigint as minor
from refunds
where merchant_id = $1
  and payment_id = $2
  and attempt_id = $3
  and id <> $4
  and status <> 'failed'
  and submitted_at < coalesce($5, 'infinity'::timestamptz)`

/** The refunds of the attempt that were submitted before this one and may have returned money. */
export async function sumEarlierRefunds(db: Db, refund: RefundRow): Promise<bigint> {
  const { merchantId, paymentId, attemptId, id, submittedAt } = refund
  const values = [merchantId, paymentId, attemptId, id, submittedAt]
  const row = await firstRow(db, sumEarlierRefundsStatement, values)
  return row?.minor ?? 0n
}
