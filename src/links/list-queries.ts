// The list of a merchant's links, with pagination. The status that was last recorded is a column with an index. It is stale
// for a few links: those with an uncounted payment, and those whose expiry is due. Only their status is computed per row.

import { COUNT_CAP } from '../core/page.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import type { LinkRow, LinkStatus, LinkUsage } from './link.ts'
import { LINK_COLUMNS, LINK_STATUS, LINKS, SEARCHED_LINKS } from './queries.ts'

export interface LinkFilter {
  status: LinkStatus | null
  currency: string | null
  usage: LinkUsage | null
  /** A like pattern, already escaped. */
  pattern: string | null
  createdFrom: Date | null
  createdTo: Date | null
}

const FILTER = `
  l.merchant_id = $1
  and ($3::text is null or l.currency = $3)
  and ($4::text is null or l.usage = $4)
  and ($5::text is null or l.search_text like $5)
  and ($6::timestamptz is null or l.created_at >= $6)
  and ($7::timestamptz is null or l.created_at <= $7)`

const STALE = `
  stale as materialized (
    select h.link_id as id
    from payment_link_slots h
    where h.merchant_id = $1 and h.paid_at is not null
    union
    select d.id
    from payment_links d
    where d.merchant_id = $1 and d.due_at <= $2
  )`

// The time is the second value of every statement here; this one does not need it.
const countAllLinks = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from searched_links l
  where ${FILTER}
    and $2::timestamptz is not null
  limit ${String(COUNT_CAP + 1)}
) counted`

const countLinksOfStatus = sql<{ total: number }>`
with ${STALE}
select count(*)::integer as total
from (
  (
    select 1
    from searched_links l
    where ${FILTER}
      and l.recorded_status = $8
      and l.id not in (select id from stale)
    limit ${String(COUNT_CAP + 1)}
  )
  union all
  select 1
  from ${SEARCHED_LINKS}
  where ${FILTER}
    and l.id in (select id from stale)
    and ${LINK_STATUS} = $8
  limit ${String(COUNT_CAP + 1)}
) counted`

/** At most one more than the cap: the caller then knows that there are more. */
export async function countLinks(db: Tx, merchantId: string, now: Date, filter: LinkFilter): Promise<number> {
  const { status } = filter
  const values = [merchantId, now, ...filterValues(filter)]
  const [row] =
    status === null
      ? await db.query(countAllLinks, values)
      : await db.query(countLinksOfStatus, [...values, status])
  return row?.total ?? 0
}

const ORDERS = {
  desc: { operator: '<', direction: ' desc' },
  asc: { operator: '>', direction: '' },
}
type Order = keyof typeof ORDERS

const positionOf = (order: Order) =>
  `($8::timestamptz is null or (l.created_at, l.id) ${ORDERS[order].operator} ($8, $9::uuid))`

const orderBy = (order: Order, alias = '') =>
  ['created_at', 'id'].map((name) => `${alias}${name}${ORDERS[order].direction}`).join(', ')

const pageText = (order: Order) => `
select ${LINK_COLUMNS}
from ${SEARCHED_LINKS}
where ${FILTER}
  and ${positionOf(order)}
order by ${orderBy(order, 'l.')}
limit $10
offset $11`

const pageOfStatusText = (order: Order) => `
with ${STALE},
page as (
  (
    select l.id, l.created_at
    from searched_links l
    where ${FILTER}
      and ${positionOf(order)}
      and l.recorded_status = $12
      and l.id not in (select id from stale)
    order by ${orderBy(order, 'l.')}
    limit $10::bigint + $11::bigint
  )
  union all
  select l.id, l.created_at
  from ${SEARCHED_LINKS}
  where ${FILTER}
    and ${positionOf(order)}
    and l.id in (select id from stale)
    and ${LINK_STATUS} = $12
  order by ${orderBy(order)}
  limit $10
  offset $11
)
select ${LINK_COLUMNS}
from ${LINKS}
where l.merchant_id = $1 and l.id in (select id from page)
order by ${orderBy(order, 'l.')}`

const selectNewestLinks = sql<LinkRow>`${pageText('desc')}`
const selectOldestLinks = sql<LinkRow>`${pageText('asc')}`
const selectNewestLinksOfStatus = sql<LinkRow>`${pageOfStatusText('desc')}`
const selectOldestLinksOfStatus = sql<LinkRow>`${pageOfStatusText('asc')}`

export async function listLinkRows(
  db: Tx,
  merchantId: string,
  now: Date,
  filter: LinkFilter,
  { order, after, limit, offset }: Pick<ListWindow, 'order' | 'after' | 'limit' | 'offset'>,
): Promise<LinkRow[]> {
  const { status } = filter
  const position = [after?.at ?? null, after?.id ?? null]
  const values = [merchantId, now, ...filterValues(filter), ...position, limit, offset]
  if (status === null) return db.query(order === 'desc' ? selectNewestLinks : selectOldestLinks, values)
  const statement = order === 'desc' ? selectNewestLinksOfStatus : selectOldestLinksOfStatus
  return db.query(statement, [...values, status])
}

const filterValues = (filter: LinkFilter) => [
  filter.currency,
  filter.usage,
  filter.pattern,
  filter.createdFrom,
  filter.createdTo,
]
