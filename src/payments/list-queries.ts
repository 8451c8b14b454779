// The lists of payments and charges. Each way to filter goes by an index that begins with the merchant, and none reads
// more of it than the page and its offset ask for, so that a page costs the same with a million payments as with ten.
//
// Bounds are always given, from -infinity to infinity: with "or is null" a prepared statement could not use them.

import { COUNT_CAP } from '../core/page.ts'
import { searchQueryOf } from '../core/search-text.ts'
import { type Db, sql } from '../kit/db.ts'
import { countUpToCap, keysetPosition, type ListWindow, substringPattern } from '../kit/pagination.ts'
import { PAYMENT_COLUMNS, type PaymentRow } from './payment.ts'

export interface PaymentFilter {
  /** Null: payments and charges together, which only a customer's list shows. */
  kind: 'checkout' | 'charge' | null
  customerId: string | null
  status: string | null
  currency: string | null
  gateway: string | null
  /** In lower case; it is found in a reference or an e-mail, in any case of letters. */
  search: string | null
}

export interface PaymentsPage {
  rows: PaymentRow[]
  /** At most one more than the cap, which is how the caller knows that there are more. */
  counted: number
}

/** One row more than the page has, where there is one. */
export async function listPaymentRows(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  window: ListWindow,
  cappedLists?: Set<string>,
): Promise<PaymentsPage> {
  const source = await sourceOf(db, merchantId, filter)
  const statement = window.order === 'desc' ? source.newest : source.oldest
  const from = window.createdFrom ?? '-infinity'
  const to = window.createdTo ?? 'infinity'
  const count = async () => {
    const [row] = await db.query(source.count, [merchantId, from, to, ...source.values])
    return row?.total ?? 0
  }
  // Payments are never deleted, and never change their kind; those of a time or a state may be few.
  const isUnbounded = source.count === countAll && window.createdFrom === null && window.createdTo === null
  const [rows, counted] = await Promise.all([
    db.query(statement, [
      ...[merchantId, from, to, ...keysetPosition(window)],
      ...[window.limit + 1, window.offset, ...source.values],
    ]),
    isUnbounded ? countUpToCap(cappedLists, `payments:${filter.kind}:${merchantId}`, count) : count(),
  ])
  return { rows, counted }
}

async function sourceOf(db: Db, merchantId: string, filter: PaymentFilter) {
  const { kind, customerId, status, currency, gateway, search } = filter
  const pattern = search === null ? null : substringPattern(search)
  const values = [kind, status, currency, gateway, pattern]
  if (customerId !== null) return { ...OF_CUSTOMER, values: [...values, customerId] }
  if (search !== null && HAS_TRIGRAM.test(search)) {
    const patterns = [substringPattern(selectivePart(search)), searchQueryOf(merchantId, search)]
    if (await isSelective(db, merchantId, [pattern, ...patterns]))
      return { ...FOUND, values: [...values, ...patterns] }
  }
  const isPlain = status === null && currency === null && gateway === null && pattern === null
  return isPlain ? { ...ALL, values: [kind] } : { ...FILTERED, values }
}

// What is found more rarely than this is found by its trigrams and then sorted. What is more frequent is met soon enough
// by whoever reads in the order of time.
const MAX_SELECTIVE_MATCHES = 10_000
// Other texts have no trigram of their own.
const HAS_TRIGRAM = /[\p{L}\p{N}]{3}/u

// References mostly begin alike and are told apart by their ends, whose trigrams are the rare ones. Longer ends often hold the
// beginning of a word, and how many words begin alike is much to read.
const SELECTIVE_LENGTH = 6
// In other letters a database with plain collation sees no trigram.
const SELECTIVE = /[a-z0-9]{3}/

function selectivePart(search: string): string {
  const end = Array.from(search).slice(-SELECTIVE_LENGTH).join('')
  return SELECTIVE.test(end) ? end : search
}

const hasReference = (pattern: string, part: string) =>
  `r.merchant_id = $1 and r.reference ilike ${part} and (r.reference ilike ${pattern}) is true`

// Payments are joined by the merchant of the list and not of the customer: behind the wall between merchants the planner knows
// whose payments they are, would conclude whose customers, and read all of these.

/** By the index over pieces of names and e-mails alone: another one would read all customers of the merchant. */
const hasEmail = (pattern: string, grams: string) =>
  `search_ngrams(c.merchant_id, c.search_text) @@ ${grams}::tsquery and (c.merchant_id = $1 and c.email_key like ${pattern}) is true`

const countMatches = sql<{ matches: number }>`
select
  (
    select count(*)::integer
    from (
      select 1
      from searched_references r
      where ${hasReference('$2', '$3')}
      limit ${String(MAX_SELECTIVE_MATCHES + 1)}
    ) r
  )
  + (
    select count(*)::integer
    from (
      select 1
      from searched_customers c
      join payments p on p.merchant_id = $1 and p.customer_id = c.id
      where ${hasEmail('$2', '$4')}
      limit ${String(MAX_SELECTIVE_MATCHES + 1)}
    ) c
  ) as matches`

/** What is wanted: the pattern, its telling part, and its pieces. */
async function isSelective(db: Db, merchantId: string, patterns: readonly unknown[]): Promise<boolean> {
  const [counted] = await db.query(countMatches, [merchantId, ...patterns])
  return counted !== undefined && counted.matches <= MAX_SELECTIVE_MATCHES
}

// A page has the parameters 1 merchant, 2 from, 3 to, 4 and 5 the position, 6 limit, 7 offset, and from 8 on the filter;
// a count the merchant, from, to, and the filter from 4 on.

const BETWEEN = `p.merchant_id = $1 and p.created_at >= $2::timestamptz and p.created_at <= $3::timestamptz`
// The time of the position stands beside it once more: of several bounds the server begins at the first plain one, and would
// walk from the end of the list to the position.
const BEFORE = `${BETWEEN} and p.created_at <= $4::timestamptz and (p.created_at, p.id) < ($4::timestamptz, $5::uuid)`
const AFTER = `${BETWEEN} and p.created_at >= $4::timestamptz and (p.created_at, p.id) > ($4::timestamptz, $5::uuid)`
const NEWEST = `order by p.created_at desc, p.id desc`
const OLDEST = `order by p.created_at, p.id`
const CAP = String(COUNT_CAP + 1)

interface Total {
  total: number
}

const newestOfAll = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where ${BEFORE} and p.kind = $8
${NEWEST}
limit $6
offset $7`

const oldestOfAll = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where ${AFTER} and p.kind = $8
${OLDEST}
limit $6
offset $7`

const countAll = sql<Total>`
select count(*)::integer as total
from (
  select 1
  from payments p
  where ${BETWEEN} and p.kind = $4
  limit ${CAP}
) counted`

const ALL = { newest: newestOfAll, oldest: oldestOfAll, count: countAll }

const REST_OF_FILTER = `
  ($8::text is null or p.kind = $8)
  and ($9::text is null or p.status = $9)
  and ($10::text is null or p.currency = $10)
  and ($11::text is null or p.gateway = $11)
  and ($12::text is null or p.reference ilike $12 or p.customer_email ilike $12)`

const REST_OF_COUNTED = `
  ($4::text is null or p.kind = $4)
  and ($5::text is null or p.status = $5)
  and ($6::text is null or p.currency = $6)
  and ($7::text is null or p.gateway = $7)
  and ($8::text is null or p.reference ilike $8 or p.customer_email ilike $8)`

const newestOfCustomer = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where ${BEFORE} and p.customer_id = $13 and ${REST_OF_FILTER}
${NEWEST}
limit $6
offset $7`

const oldestOfCustomer = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where ${AFTER} and p.customer_id = $13 and ${REST_OF_FILTER}
${OLDEST}
limit $6
offset $7`

const countOfCustomer = sql<Total>`
select count(*)::integer as total
from (
  select 1
  from payments p
  where ${BETWEEN} and p.customer_id = $9 and ${REST_OF_COUNTED}
  limit ${CAP}
) counted`

const OF_CUSTOMER = { newest: newestOfCustomer, oldest: oldestOfCustomer, count: countOfCustomer }

/**
 * The triples of state, currency and gateway that the merchant has, found by leaping from one to the next in the index,
 * and of them those that fit. There are a few dozen at most.
 */
const triples = (kind: string, status: string, currency: string, gateway: string) => `
with recursive triples as (
  (
    select status, currency, gateway
    from payments
    where merchant_id = $1 and kind = ${kind}
    order by status, currency, gateway
    limit 1
  )
  union all
  select following.status, following.currency, following.gateway
  from triples t
  cross join lateral (
    select status, currency, gateway
    from payments
    where merchant_id = $1
      and kind = ${kind}
      and (status, currency, gateway) > (t.status, t.currency, t.gateway)
    order by status, currency, gateway
    limit 1
  ) following
),
fitting as (
  select *
  from triples
  where (${status}::text is null or status = ${status})
    and (${currency}::text is null or currency = ${currency})
    and (${gateway}::text is null or gateway = ${gateway})
)`

const ofTriple = (pattern: string) => `
  p.status = f.status
  and p.currency = f.currency
  and p.gateway = f.gateway
  and (${pattern}::text is null or p.reference ilike ${pattern} or p.customer_email ilike ${pattern})`

const newestFiltered = sql<PaymentRow>`
${triples('$8', '$9', '$10', '$11')}
select ${PAYMENT_COLUMNS}
from fitting f
cross join lateral (
  select *
  from payments p
  where ${BEFORE} and p.kind = $8 and ${ofTriple('$12')}
  ${NEWEST}
  limit $6::bigint + $7::bigint
) p
${NEWEST}
limit $6
offset $7`

const oldestFiltered = sql<PaymentRow>`
${triples('$8', '$9', '$10', '$11')}
select ${PAYMENT_COLUMNS}
from fitting f
cross join lateral (
  select *
  from payments p
  where ${AFTER} and p.kind = $8 and ${ofTriple('$12')}
  ${OLDEST}
  limit $6::bigint + $7::bigint
) p
${OLDEST}
limit $6
offset $7`

const countFiltered = sql<Total>`
${triples('$4', '$5', '$6', '$7')}
select count(*)::integer as total
from (
  select 1
  from fitting f
  cross join lateral (
    select 1
    from payments p
    where ${BETWEEN} and p.kind = $4 and ${ofTriple('$8')}
    limit ${CAP}
  ) p
  limit ${CAP}
) counted`

const FILTERED = { newest: newestFiltered, oldest: oldestFiltered, count: countFiltered }

/**
 * Two searches, each with the index of its own table: references as they were claimed, and the e-mails of customers.
 * A payment that both find is one.
 */
const found = (pattern: string, part: string, grams: string) => `
with found as materialized (
  select r.payment_id as id
  from searched_references r
  where ${hasReference(pattern, part)}
  union
  select p.id
  from searched_customers c
  join payments p on p.merchant_id = $1 and p.customer_id = c.id
  where ${hasEmail(pattern, grams)}
)`

// As an array, which is looked up whatever the planner thinks of its length; a join may be tried row by row. Times are
// hidden from it, because it would take their index for the better way and read all payments of the merchant.
const FOUND_HERE = 'p.merchant_id = $1 and p.id = any (array(select id from found))'

// What was found is not compared again: a customer's e-mail may have changed since the payment.
const REST_OF_FOUND = `
  p.kind = $8
  and ($9::text is null or p.status = $9)
  and ($10::text is null or p.currency = $10)
  and ($11::text is null or p.gateway = $11)`

const newestFound = sql<PaymentRow>`
${found('$12', '$13', '$14')}
select ${PAYMENT_COLUMNS}
from payments p
where ${FOUND_HERE} and (${BEFORE}) is true and ${REST_OF_FOUND}
${NEWEST}
limit $6
offset $7`

const oldestFound = sql<PaymentRow>`
${found('$12', '$13', '$14')}
select ${PAYMENT_COLUMNS}
from payments p
where ${FOUND_HERE} and (${AFTER}) is true and ${REST_OF_FOUND}
${OLDEST}
limit $6
offset $7`

const countFound = sql<Total>`
${found('$8', '$9', '$10')}
select count(*)::integer as total
from (
  select 1
  from payments p
  where ${FOUND_HERE}
    and (${BETWEEN}) is true
    and p.kind = $4
    and ($5::text is null or p.status = $5)
    and ($6::text is null or p.currency = $6)
    and ($7::text is null or p.gateway = $7)
  limit ${CAP}
) counted`

const FOUND = { newest: newestFound, oldest: oldestFound, count: countFound }
