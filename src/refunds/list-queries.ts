// The lists of refunds. Each way to filter goes by an index that begins with the merchant, and none reads more of it than the
// page and its offset ask for, so that what is rare is found as fast among a million refunds as among ten.
//
// Bounds are always given, from -infinity to infinity: with "or is null" a prepared statement could not use them.

import { COUNT_CAP } from '../core/page.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { keysetPosition, type ListWindow } from '../kit/db/pagination.ts'
import { REFUND_COLUMNS, type RefundRow } from './queries.ts'

export interface RefundFilter {
  status: string | null
  paymentId: string | null
  currency: string | null
  /** A like pattern in lower case, already escaped, over the references of payments. */
  pattern: string | null
}

export interface RefundsPage {
  rows: RefundRow[]
  /** At most one more than the cap, which is how the caller knows that there are more. */
  counted: number
}

/** One row more than the page has, where there is one. */
export async function listRefundRows(
  db: Tx,
  merchantId: string,
  filter: RefundFilter,
  window: ListWindow,
): Promise<RefundsPage> {
  const source = await sourceOf(db, merchantId, filter)
  const statement = window.order === 'desc' ? source.newest : source.oldest
  const from = window.createdFrom ?? '-infinity'
  const to = window.createdTo ?? 'infinity'
  const [rows, [count]] = await Promise.all([
    db.query(statement, [
      ...[merchantId, from, to, ...keysetPosition(window)],
      ...[window.limit + 1, window.offset, ...source.values],
    ]),
    db.query(source.count, [merchantId, from, to, ...source.values]),
  ])
  return { rows, counted: count?.total ?? 0 }
}

async function sourceOf(db: Tx, merchantId: string, filter: RefundFilter) {
  const { status, currency, pattern, paymentId } = filter
  const values = [status, currency, pattern]
  const isFound = paymentId !== null || (pattern !== null && (await isRare(db, merchantId, pattern)))
  if (isFound) return { ...FOUND, values: [...values, paymentId] }
  const isPlain = status === null && currency === null && pattern === null
  return isPlain ? { ...ALL, values: [] } : { ...FILTERED, values }
}

// What is found more rarely than this is found by its trigrams and then sorted. What is more frequent is met soon enough
// by whoever reads in the order of time.
const RARE = 10_000
// A shorter text has no trigram of its own.
const TRIGRAM_PATTERN = 3 + '%%'.length

const countFinds = sql<{ finds: number }>`
select count(*)::integer as finds
from (
  select 1
  from searched_refunds
  where merchant_id = $1 and lower(payment_reference) like $2
  limit ${String(RARE + 1)}
) counted`

async function isRare(db: Tx, merchantId: string, pattern: string): Promise<boolean> {
  if (pattern.length < TRIGRAM_PATTERN) return false
  const [counted] = await db.query(countFinds, [merchantId, pattern])
  return counted !== undefined && counted.finds <= RARE
}

// A page has the parameters 1 merchant, 2 from, 3 to, 4 and 5 the position, 6 limit, 7 offset, and from 8 on the filter: state,
// currency, pattern, payment. A count has the merchant, from, to, and the filter from 4 on.

const BETWEEN = `r.merchant_id = $1 and r.created_at >= $2::timestamptz and r.created_at <= $3::timestamptz`
// The time of the position stands beside it once more: of several bounds the server begins at the first plain one, and would
// walk from the end of the list to the position.
const BEFORE = `${BETWEEN} and r.created_at <= $4::timestamptz and (r.created_at, r.id) < ($4::timestamptz, $5::uuid)`
const AFTER = `${BETWEEN} and r.created_at >= $4::timestamptz and (r.created_at, r.id) > ($4::timestamptz, $5::uuid)`
const NEWEST = `order by r.created_at desc, r.id desc`
const OLDEST = `order by r.created_at, r.id`
const CAP = String(COUNT_CAP + 1)

interface Total {
  total: number
}

const newestOfAll = sql<RefundRow>`
select ${REFUND_COLUMNS}
from refunds r
where ${BEFORE}
${NEWEST}
limit $6
offset $7`

const oldestOfAll = sql<RefundRow>`
select ${REFUND_COLUMNS}
from refunds r
where ${AFTER}
${OLDEST}
limit $6
offset $7`

const countAll = sql<Total>`
select count(*)::integer as total
from (
  select 1
  from refunds r
  where ${BETWEEN}
  limit ${CAP}
) counted`

const ALL = { newest: newestOfAll, oldest: oldestOfAll, count: countAll }

/** The pairs of state and currency that the merchant has, found by leaping from one to the next in the index. */
const pairs = (status: string, currency: string) => `
with recursive pairs as (
  (
    select status, currency
    from refunds
    where merchant_id = $1
    order by status, currency
    limit 1
  )
  union all
  select following.status, following.currency
  from pairs p
  cross join lateral (
    select status, currency
    from refunds
    where merchant_id = $1 and (status, currency) > (p.status, p.currency)
    order by status, currency
    limit 1
  ) following
),
fitting as (
  select *
  from pairs
  where (${status}::text is null or status = ${status})
    and (${currency}::text is null or currency = ${currency})
)`

const ofPair = (pattern: string) => `
  r.status = f.status
  and r.currency = f.currency
  and (${pattern}::text is null or lower(r.payment_reference) like ${pattern})`

const newestFiltered = sql<RefundRow>`
${pairs('$8', '$9')}
select ${REFUND_COLUMNS}
from fitting f
cross join lateral (
  select *
  from refunds r
  where ${BEFORE} and ${ofPair('$10')}
  ${NEWEST}
  limit $6::bigint + $7::bigint
) r
${NEWEST}
limit $6
offset $7`

const oldestFiltered = sql<RefundRow>`
${pairs('$8', '$9')}
select ${REFUND_COLUMNS}
from fitting f
cross join lateral (
  select *
  from refunds r
  where ${AFTER} and ${ofPair('$10')}
  ${OLDEST}
  limit $6::bigint + $7::bigint
) r
${OLDEST}
limit $6
offset $7`

// In order, so that the index is gone through: the planner cannot know that a pair is rare, and would sooner read the table
// until there are enough.
const countFiltered = sql<Total>`
${pairs('$4', '$5')}
select count(*)::integer as total
from (
  select 1
  from fitting f
  cross join lateral (
    select 1
    from refunds r
    where ${BETWEEN} and ${ofPair('$6')}
    ${OLDEST}
    limit ${CAP}
  ) r
  limit ${CAP}
) counted`

const FILTERED = { newest: newestFiltered, oldest: oldestFiltered, count: countFiltered }

/** Those of one payment, or else those that a search finds: few either way. */
const found = (pattern: string, payment: string) => `
with found as materialized (
  select id
  from refunds
  where merchant_id = $1 and payment_id = ${payment}
  union
  select id
  from searched_refunds
  where merchant_id = $1 and ${payment}::uuid is null and lower(payment_reference) like ${pattern}
)`

// Times are hidden from the planner, who would take their index for the better way and read all refunds of the merchant.
const restOfFound = (status: string, currency: string, pattern: string) => `
  r.merchant_id = $1
  and r.id = any (array(select id from found))
  and (${status}::text is null or r.status = ${status})
  and (${currency}::text is null or r.currency = ${currency})
  and (${pattern}::text is null or lower(r.payment_reference) like ${pattern})`

const newestFound = sql<RefundRow>`
${found('$10', '$11')}
select ${REFUND_COLUMNS}
from refunds r
where (${BEFORE}) is true and ${restOfFound('$8', '$9', '$10')}
${NEWEST}
limit $6
offset $7`

const oldestFound = sql<RefundRow>`
${found('$10', '$11')}
select ${REFUND_COLUMNS}
from refunds r
where (${AFTER}) is true and ${restOfFound('$8', '$9', '$10')}
${OLDEST}
limit $6
offset $7`

const countFound = sql<Total>`
${found('$6', '$7')}
select count(*)::integer as total
from (
  select 1
  from refunds r
  where (${BETWEEN}) is true and ${restOfFound('$4', '$5', '$6')}
  limit ${CAP}
) counted`

const FOUND = { newest: newestFound, oldest: oldestFound, count: countFound }
