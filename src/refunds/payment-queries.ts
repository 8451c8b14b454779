import { sql, type Tx } from '../kit/db.ts'

const changeRefundsStatement = sql<unknown>`
update payments
set refunded_minor = refunded_minor + $3, refund_reserved_minor = refund_reserved_minor + $4
where merchant_id = $1 and id = $2`

export async function changeRefunds(
  tx: Tx,
  merchantId: string,
  id: string,
  change: { refundedMinor: bigint; reservedMinor: bigint },
): Promise<void> {
  await tx.query(changeRefundsStatement, [merchantId, id, change.refundedMinor, change.reservedMinor])
}
