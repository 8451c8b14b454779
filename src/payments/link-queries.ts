// The payments that were begun at one link, by an index that holds no others.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql } from '../kit/db.ts'
import type { ListWindow } from '../kit/pagination.ts'
import { PAYMENT_COLUMNS, type PaymentRow } from './payment.ts'

const FILTER = `
  p.merchant_id = $1
  and p.link_id = $2
  and ($3::text is null or p.status = $3)
  and ($4::timestamptz is null or p.created_at >= $4)
  and ($5::timestamptz is null or p.created_at <= $5)`

const newestOfLink = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where ${FILTER}
  and ($6::timestamptz is null or (p.created_at, p.id) < ($6, $7::uuid))
order by p.created_at desc, p.id desc
limit $8
offset $9`

const oldestOfLink = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where ${FILTER}
  and ($6::timestamptz is null or (p.created_at, p.id) > ($6, $7::uuid))
order by p.created_at, p.id
limit $8
offset $9`

export async function listLinkPaymentRows(
  db: Db,
  merchantId: string,
  linkId: string,
  status: string | null,
  { order, after, limit, offset, createdFrom, createdTo }: ListWindow,
): Promise<PaymentRow[]> {
  const filter = [merchantId, linkId, status, createdFrom, createdTo]
  const position = [after?.at ?? null, after?.id ?? null]
  const statement = order === 'desc' ? newestOfLink : oldestOfLink
  return db.query(statement, [...filter, ...position, limit + 1, offset])
}

const countOfLink = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from payments p
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

/** At most one more than the cap, which is how the caller knows that there are more. */
export async function countLinkPayments(
  db: Db,
  merchantId: string,
  linkId: string,
  status: string | null,
  { createdFrom, createdTo }: ListWindow,
): Promise<number> {
  const [row] = await db.query(countOfLink, [merchantId, linkId, status, createdFrom, createdTo])
  return row?.total ?? 0
}
