import { sql, type Tx } from '../kit/db/db.ts'

const updateRefundTotalsStatement = sql<unknown>`
update payments
set refunded_minor = refunded_minor + $3, refund_reserved_minor = refund_reserved_minor + $4
where merchant_id = $1 and id = $2`

export async function updateRefundTotals(
  tx: Tx,
  merchantId: string,
  id: string,
  change: { refundedMinor: bigint; reservedMinor: bigint },
): Promise<void> {
  await tx.query(updateRefundTotalsStatement, [merchantId, id, change.refundedMinor, change.reservedMinor])
}
