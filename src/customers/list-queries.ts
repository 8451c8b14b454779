// The list of customers. What is asked for decides the index, so each way to ask has statements of its own: with one that
// served them all, the planner would guess, and a guess that was good for ten customers reads all of a million.
//
// Bounds are always given, from -infinity to infinity: with "or is null" a prepared statement could not use them.

import { COUNT_CAP } from '../core/page.ts'
import { searchQueryOf } from '../core/search-text.ts'
import { type Db, sql } from '../kit/db.ts'
import { countUpToCap, keysetPosition, type ListWindow, substringPattern } from '../kit/pagination.ts'
import { CUSTOMER_COLUMNS, type CustomerRow } from './customer.ts'

export interface CustomersPage {
  rows: CustomerRow[]
  /** At most one more than the cap, which is how the caller knows that there are more. */
  counted: number
}

// Parameters: 1 merchant, 2 from, 3 to; a page adds 4 and 5 the position, 6 limit, 7 offset. A pattern is the last one.
const BETWEEN = `merchant_id = $1 and created_at >= $2::timestamptz and created_at <= $3::timestamptz`
// The time of the position stands beside it once more: of several bounds the server begins at the first plain one, and would
// walk from the end of the list to the position.
const BEFORE = `created_at <= $4::timestamptz and (created_at, id) < ($4::timestamptz, $5::uuid)`
const AFTER = `created_at >= $4::timestamptz and (created_at, id) > ($4::timestamptz, $5::uuid)`
const NEWEST = 'order by created_at desc, id desc'
const OLDEST = 'order by created_at, id'
const CAPPED = String(COUNT_CAP + 1)

const selectNewest = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where ${BETWEEN} and ${BEFORE}
${NEWEST}
limit $6
offset $7`

const selectOldest = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where ${BETWEEN} and ${AFTER}
${OLDEST}
limit $6
offset $7`

const countAll = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from customers
  where ${BETWEEN}
  ${NEWEST}
  limit ${CAPPED}
) counted`

/** As many as the window asks for and one more, where there is one. */
export async function listCustomerRows(
  db: Db,
  merchantId: string,
  window: ListWindow,
  cappedLists?: Set<string>,
): Promise<CustomersPage> {
  const count = async () => {
    const [row] = await db.query(countAll, periodValues(merchantId, window))
    return row?.total ?? 0
  }
  // Customers are never deleted; those of a time may be few.
  const isUnfiltered = window.createdFrom === null && window.createdTo === null
  const [rows, counted] = await Promise.all([
    db.query(window.order === 'desc' ? selectNewest : selectOldest, pageValues(merchantId, window)),
    isUnfiltered ? countUpToCap(cappedLists, `customers:${merchantId}`, count) : count(),
  ])
  return { rows, counted }
}

// A text that many customers have is soon met by whoever reads in the order of time. How many have it is seen from the
// newest ones; a merchant that has no more than these is searched without an index at all.
const PROBE_SIZE = 1_000

const probeStatement = sql<{ sampled: number; matched: number }>`
select count(*)::integer as sampled, count(*) filter (where search_text like $4)::integer as matched
from (
  select search_text
  from customers
  where ${BETWEEN}
  ${NEWEST}
  limit ${String(PROBE_SIZE)}
) newest`

const newestMatching = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where ${BETWEEN} and ${BEFORE} and search_text like $8
${NEWEST}
limit $6
offset $7`

const oldestMatching = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where ${BETWEEN} and ${AFTER} and search_text like $8
${OLDEST}
limit $6
offset $7`

// Enough to find more than the cap of what every second customer has.
const SCAN_LIMIT = String(3 * COUNT_CAP)

const countMatchingStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from (
    select search_text
    from customers
    where ${BETWEEN}
    ${NEWEST}
    limit ${SCAN_LIMIT}
  ) newest
  where search_text like $4
  limit ${CAPPED}
) counted`

/**
 * The pieces of the text lead to all that may have it; those of the page are fetched by their ids. The other conditions are
 * hidden from the planner, who would take an index of theirs for the better way, and does not know how much the merchant has.
 * So are the pieces, in a select of their own: it would plan anew for each text.
 */
const searchStatement = (position: string, order: string) => `
with found as materialized (
  select id, created_at
  from searched_customers
  where search_ngrams(merchant_id, search_text) @@ (select $9::tsquery)
    and (search_text like $8 and ${BETWEEN}) is true
  limit ${CAPPED}
),
page as (
  select id
  from found
  where ${position}
  ${order}
  limit $6
  offset $7
)
select (select count(*)::integer from found) as counted, c.*
from (select 1) as one
left join (
  select ${CUSTOMER_COLUMNS}
  from customers
  where merchant_id = $1 and id = any (array(select id from page))
) c on true
order by c."createdAt"`

type FoundRow = { counted: number } & (CustomerRow | { id: null })

const newestFound = sql<FoundRow>`${searchStatement(BEFORE, NEWEST)} desc, c.id desc`
const oldestFound = sql<FoundRow>`${searchStatement(AFTER, OLDEST)}, c.id`

/** The text in lower case, as it is to be found. */
export async function searchCustomerRows(
  db: Db,
  merchantId: string,
  text: string,
  window: ListWindow,
): Promise<CustomersPage> {
  const pattern = substringPattern(text)
  const period = periodValues(merchantId, window)
  const [probe = { sampled: 0, matched: 0 }] = await db.query(probeStatement, [...period, pattern])
  if (probe.sampled < PROBE_SIZE) return readMatching(db, merchantId, pattern, window, probe.matched)
  if (probe.matched * 2 >= probe.sampled) {
    const [counted] = await db.query(countMatchingStatement, [...period, pattern])
    if (counted && counted.total > COUNT_CAP)
      return readMatching(db, merchantId, pattern, window, counted.total)
  }
  const page = await findMatching(db, merchantId, text, window)
  return page.counted > COUNT_CAP ? readMatching(db, merchantId, pattern, window, page.counted) : page
}

async function readMatching(
  db: Db,
  merchantId: string,
  pattern: string,
  window: ListWindow,
  counted: number,
): Promise<CustomersPage> {
  const statement = window.order === 'desc' ? newestMatching : oldestMatching
  return { rows: await db.query(statement, [...pageValues(merchantId, window), pattern]), counted }
}

async function findMatching(
  db: Db,
  merchantId: string,
  text: string,
  window: ListWindow,
): Promise<CustomersPage> {
  const statement = window.order === 'desc' ? newestFound : oldestFound
  const searchValues = [substringPattern(text), searchQueryOf(merchantId, text)]
  const rows = await db.query(statement, [...pageValues(merchantId, window), ...searchValues])
  return { rows: rows.filter((row) => row.id !== null), counted: rows[0]?.counted ?? 0 }
}

const periodValues = (merchantId: string, { createdFrom, createdTo }: ListWindow) => [
  merchantId,
  createdFrom ?? '-infinity',
  createdTo ?? 'infinity',
]

const pageValues = (merchantId: string, window: ListWindow) => [
  ...periodValues(merchantId, window),
  ...keysetPosition(window),
  window.limit + 1,
  window.offset,
]
