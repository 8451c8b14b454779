// The merchants and customers of cases, for operators. It reads the payments of another slice, which have the customer as of then.

import { sql, type Tx } from '../kit/db/db.ts'

interface PartyRow {
  id: string
  merchantName: string
  uuid: string
  firstname: string
  lastname: string
  email: string
  phone: string | null
}

const selectPartiesStatement = sql<PartyRow>`
select
  c.id, m.name as "merchantName", p.customer_id as uuid, p.customer_firstname as firstname,
  p.customer_lastname as lastname, p.customer_email as email, p.customer_phone as phone
from cases c
join merchants m on m.id = c.merchant_id
join payments p on p.merchant_id = c.merchant_id and p.id = c.payment_id
where c.id = any ($1::uuid[])`

/** By the ids of the cases. */
export async function findParties(db: Tx, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, never>()
  const rows = await db.query(selectPartiesStatement, [ids])
  return new Map(rows.map(({ id, merchantName, ...customer }) => [id, { merchantName, customer }]))
}
