// The list of a merchant's links.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql } from '../kit/db.ts'
import type { ListWindow } from '../kit/list.ts'
import { LINK_COLUMNS, LINK_STATUS, LINKS, type LinkRow, type LinkStatus, type LinkUsage } from './queries.ts'

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
  and ($3::text is null or ${LINK_STATUS} = $3)
  and ($4::text is null or l.currency = $4)
  and ($5::text is null or l.usage = $5)
  and ($6::text is null or l.search_text like $6)
  and ($7::timestamptz is null or l.created_at >= $7)
  and ($8::timestamptz is null or l.created_at <= $8)`

const countLinksStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from ${LINKS}
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

/** At most one more than the cap, which is how the caller knows that there are more. */
export async function countLinks(db: Db, merchantId: string, now: Date, filter: LinkFilter): Promise<number> {
  const [row] = await db.query(countLinksStatement, [merchantId, now, ...filterValues(filter)])
  return row?.total ?? 0
}

const selectNewestLinks = sql<LinkRow>`
select ${LINK_COLUMNS}
from ${LINKS}
where ${FILTER}
  and ($9::timestamptz is null or (l.created_at, l.id) < ($9, $10::uuid))
order by l.created_at desc, l.id desc
limit $11
offset $12`

const selectOldestLinks = sql<LinkRow>`
select ${LINK_COLUMNS}
from ${LINKS}
where ${FILTER}
  and ($9::timestamptz is null or (l.created_at, l.id) > ($9, $10::uuid))
order by l.created_at, l.id
limit $11
offset $12`

export async function listLinkRows(
  db: Db,
  merchantId: string,
  now: Date,
  filter: LinkFilter,
  window: Pick<ListWindow, 'order' | 'after' | 'limit' | 'offset'>,
): Promise<LinkRow[]> {
  const statement = window.order === 'desc' ? selectNewestLinks : selectOldestLinks
  const after = [window.after?.at ?? null, window.after?.id ?? null]
  return db.query(statement, [
    merchantId,
    now,
    ...filterValues(filter),
    ...after,
    window.limit,
    window.offset,
  ])
}

const filterValues = (filter: LinkFilter) => [
  filter.status,
  filter.currency,
  filter.usage,
  filter.pattern,
  filter.createdFrom,
  filter.createdTo,
]
