// Every statement over receipts that were sent again.

import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

// The lock makes two people who send at the same moment count each other.
const lockStatement = sql<unknown>`
select
from payments
where merchant_id = $1 and id = $2
for no key update`

const countStatement = sql<{ count: number }>`
select count(*)::integer as count
from sent_receipts
where merchant_id = $1 and payment_id = $2 and created_at > $3`

/** How many were sent since then. Locks the payment until the end of the transaction. */
export async function countSent(tx: Tx, merchantId: string, paymentId: string, since: Date): Promise<number> {
  await tx.query(lockStatement, [merchantId, paymentId])
  return (await firstRow(tx, countStatement, [merchantId, paymentId, since]))?.count ?? 0
}

const insertStatement = sql<unknown>`
insert into sent_receipts (merchant_id, id, payment_id, user_id, created_at)
values ($1, $2, $3, $4, $5)`

export async function insertSent(
  tx: Tx,
  sent: { merchantId: string; id: string; paymentId: string; userId: string; createdAt: Date },
): Promise<void> {
  const { merchantId, id, paymentId, userId, createdAt } = sent
  await tx.query(insertStatement, [merchantId, id, paymentId, userId, createdAt])
}
