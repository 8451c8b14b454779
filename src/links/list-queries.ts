// The list of a merchant's links. The status of a link is written down when it comes to rest, and an index finds it there;
// only the few links that are stale at this moment, paid and not yet counted or past their time and not yet told, are
// looked at one by one.

import { COUNT_CAP } from '../core/page.ts'
import { sql, type Tx } from '../kit/db.ts'
import type { ListWindow } from '../kit/pagination.ts'
import {
  LINK_COLUMNS,
  LINK_STATUS,
  LINKS,
  type LinkRow,
  type LinkStatus,
  type LinkUsage,
  SEARCHED_LINKS,
} from './queries.ts'

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

// The time is the second value of every statement here, and this one has no use for it.
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

/** At most one more than the cap, which is how the caller knows that there are more. */
export async function countLinks(db: Tx, merchantId: string, now: Date, filter: LinkFilter): Promise<number> {
  const { status } = filter
  const values = [merchantId, now, ...filterValues(filter)]
  const [row] =
    status === null
      ? await db.query(countAllLinks, values)
      : await db.query(countLinksOfStatus, [...values, status])
  return row?.total ?? 0
}

const AFTER = `($8::timestamptz is null or (l.created_at, l.id) > ($8, $9::uuid))`
const BEFORE = `($8::timestamptz is null or (l.created_at, l.id) < ($8, $9::uuid))`

const selectNewestLinks = sql<LinkRow>`
select ${LINK_COLUMNS}
from ${SEARCHED_LINKS}
where ${FILTER}
  and ${BEFORE}
order by l.created_at desc, l.id desc
limit $10
offset $11`

const selectOldestLinks = sql<LinkRow>`
select ${LINK_COLUMNS}
from ${SEARCHED_LINKS}
where ${FILTER}
  and ${AFTER}
order by l.created_at, l.id
limit $10
offset $11`

const selectNewestLinksOfStatus = sql<LinkRow>`
with ${STALE},
page as (
  (
    select l.id, l.created_at
    from searched_links l
    where ${FILTER}
      and ${BEFORE}
      and l.recorded_status = $12
      and l.id not in (select id from stale)
    order by l.created_at desc, l.id desc
    limit $10::bigint + $11::bigint
  )
  union all
  select l.id, l.created_at
  from ${SEARCHED_LINKS}
  where ${FILTER}
    and ${BEFORE}
    and l.id in (select id from stale)
    and ${LINK_STATUS} = $12
  order by created_at desc, id desc
  limit $10
  offset $11
)
select ${LINK_COLUMNS}
from ${LINKS}
where l.merchant_id = $1 and l.id in (select id from page)
order by l.created_at desc, l.id desc`

const selectOldestLinksOfStatus = sql<LinkRow>`
with ${STALE},
page as (
  (
    select l.id, l.created_at
    from searched_links l
    where ${FILTER}
      and ${AFTER}
      and l.recorded_status = $12
      and l.id not in (select id from stale)
    order by l.created_at, l.id
    limit $10::bigint + $11::bigint
  )
  union all
  select l.id, l.created_at
  from ${SEARCHED_LINKS}
  where ${FILTER}
    and ${AFTER}
    and l.id in (select id from stale)
    and ${LINK_STATUS} = $12
  order by created_at, id
  limit $10
  offset $11
)
select ${LINK_COLUMNS}
from ${LINKS}
where l.merchant_id = $1 and l.id in (select id from page)
order by l.created_at, l.id`

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
