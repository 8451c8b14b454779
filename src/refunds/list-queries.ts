// The statements that list refunds.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql } from '../kit/db.ts'
import type { ListWindow } from '../kit/list.ts'
import { REFUND_COLUMNS, type RefundRow } from './queries.ts'

export interface RefundFilter {
  status: string | null
  paymentId: string | null
  currency: string | null
  pattern: string | null
  createdFrom: Date | null
  createdTo: Date | null
}

const FILTER = `
  r.merchant_id = $1
  and ($2::text is null or r.status = $2)
  and ($3::uuid is null or r.payment_id = $3)
  and ($4::text is null or r.currency = $4)
  and ($5::text is null or lower(r.payment_reference) like $5)
  and ($6::timestamptz is null or r.created_at >= $6)
  and ($7::timestamptz is null or r.created_at <= $7)`

const filterValues = (merchantId: string, filter: RefundFilter) => [
  merchantId,
  filter.status,
  filter.paymentId,
  filter.currency,
  filter.pattern,
  filter.createdFrom,
  filter.createdTo,
]

const countRefundsStatement = sql<{ counted: number }>`
select count(*)::integer as counted
from (
  select 1
  from refunds r
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) capped`

/** At most one more than the cap, which is how the caller knows that there are more. */
export async function countRefunds(db: Db, merchantId: string, filter: RefundFilter): Promise<number> {
  const [row] = await db.query(countRefundsStatement, filterValues(merchantId, filter))
  return row?.counted ?? 0
}

const listNewestFirst = sql<RefundRow>`
select ${REFUND_COLUMNS}
from refunds r
where ${FILTER}
  and ($8::timestamptz is null or (r.created_at, r.id) < ($8, $9::uuid))
order by r.created_at desc, r.id desc
limit $10
offset $11`

const listOldestFirst = sql<RefundRow>`
select ${REFUND_COLUMNS}
from refunds r
where ${FILTER}
  and ($8::timestamptz is null or (r.created_at, r.id) > ($8, $9::uuid))
order by r.created_at, r.id
limit $10
offset $11`

export async function listRefundRows(
  db: Db,
  merchantId: string,
  filter: RefundFilter,
  window: Pick<ListWindow, 'order' | 'after' | 'limit' | 'offset'>,
): Promise<RefundRow[]> {
  const statement = window.order === 'asc' ? listOldestFirst : listNewestFirst
  const { after, limit, offset } = window
  const place = [after?.at ?? null, after?.id ?? null, limit, offset]
  return db.query(statement, [...filterValues(merchantId, filter), ...place])
}
