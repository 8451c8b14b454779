import { sql, type Tx } from '../kit/db/db.ts'

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
