// Requests of one key, route or reference. An index for each would cost every request; the newest requests are compared
// instead, and the cursor of a page continues where it stopped.

import { type Db, sql } from '../kit/db/db.ts'
import { periodValues } from '../kit/db/list-statements.ts'
import { type CountedRows, keysetPosition, type ListWindow } from '../kit/db/pagination.ts'
import { REQUEST, type RequestRow } from './request.ts'

type Order = ListWindow['order']
type LookedRow = { total: number; lastAt: Date | null; lastId: string | null } & (RequestRow | { id: null })

const MOST_LOOKED_AT = '10000'

const ordered = (order: Order, alias: string) => {
  const direction = order === 'desc' ? ' desc' : ''
  return `order by ${alias}.created_at${direction}, ${alias}.id${direction}`
}

/** The last one that was looked at, if there may be more. */
const last = (order: Order, column: string) =>
  `(select l.${column} from looked l ${ordered(order, 'l')} offset ${MOST_LOOKED_AT} - 1 limit 1)`

// $4 key, $5 route, $6 reference, $7 and $8 the cursor, $9 limit, $10 offset.
const looking = (order: Order, outcome: string) => {
  const operator = order === 'desc' ? '<' : '>'
  return sql<LookedRow>`
with looked as materialized (
  select
    r.created_at,
    r.id,
    ($4::text is null or r.key_id = $4) and ($5::text is null or r.route = $5)
      and ($6::text is null or r.reference = $6) as fits
  from api_requests r
  where r.merchant_id = $1
    and r.created_at >= $2::timestamptz
    and r.created_at <= $3::timestamptz
    and r.created_at ${operator}= $7::timestamptz
    and (r.created_at, r.id) ${operator} ($7::timestamptz, $8::uuid)${outcome}
  ${ordered(order, 'r')}
  limit ${MOST_LOOKED_AT}
),
page as materialized (
  select l.created_at, l.id
  from looked l
  where l.fits
  ${ordered(order, 'l')}
  limit $9
  offset $10
)
select
  (select count(*)::integer from looked where fits) as total,
  ${last(order, 'created_at')} as "lastAt",
  ${last(order, 'id')} as "lastId",
  ${REQUEST.select('r')}
from (select 1) as one
left join page p on true
left join api_requests r on r.merchant_id = $1 and r.created_at = p.created_at and r.id = p.id
${ordered(order, 'r')}`
}

const IS_FAILED = `
    and r.http >= 400`
const ANY = { desc: looking('desc', ''), asc: looking('asc', '') }
const FAILED = { desc: looking('desc', IS_FAILED), asc: looking('asc', IS_FAILED) }

export interface LookFilter {
  failed: boolean
  keyId: string | null
  route: string | null
  reference: string | null
}

export async function lookForRequests(
  db: Db,
  merchantId: string,
  filter: LookFilter,
  window: ListWindow,
): Promise<CountedRows<RequestRow>> {
  const rows = await look(db, merchantId, filter, window)
  const whole = window.after === null ? rows : await look(db, merchantId, filter, { ...window, after: null })
  const { lastAt: at = null, lastId: id = null } = rows[0] ?? {}
  return {
    rows: rows.filter((row) => row.id !== null),
    counted: whole[0]?.total ?? 0,
    isPartial: (whole[0]?.lastId ?? null) !== null,
    ...(at && id && { lookedTo: { at, id } }),
  }
}

async function look(
  db: Db,
  merchantId: string,
  { failed, keyId, route, reference }: LookFilter,
  window: ListWindow,
): Promise<LookedRow[]> {
  return db.query((failed ? FAILED : ANY)[window.order], [
    ...[...periodValues(merchantId, window), keyId, route, reference],
    ...[...keysetPosition(window), window.limit + 1, window.offset],
  ])
}
