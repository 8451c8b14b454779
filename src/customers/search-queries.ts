// The search over names, e-mails and phone numbers of customers. Its work is bounded, whatever the text is: a text that is not
// frequent is found by the n-gram index, and a frequent one is compared with the newest customers. One statement for every
// text would make the planner guess, and read all of a million customers.

import { SERVED_COUNTRIES } from '../core/currency.ts'
import { searchQueryOf } from '../core/search-text.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { listRows, listStatements, periodValues } from '../kit/db/list-statements.ts'
import { boundedSearch, searchBounded } from '../kit/db/lists/bounded-search.ts'
import { type CountedRows, keysetPosition, type ListWindow, substringPattern } from '../kit/db/pagination.ts'
import { possibleNumbers } from '../kit/phone.ts'
import { CUSTOMER, type CustomerRow } from './customer.ts'
import { findCustomerByEmail } from './queries.ts'

// $1 merchant, $2 from, $3 to, as in every list; a search adds $4, the pattern.
const IN_PERIOD = 'merchant_id = $1 and created_at >= $2::timestamptz and created_at <= $3::timestamptz'

// A sample from all parts of the period shows how frequent the text is.
const PARTS = '32'
const PER_PART = '16'
const FREQUENT_SHARE = 0.05

const endOf = (direction: '' | ' desc') =>
  `(select created_at from customers where ${IN_PERIOD} order by created_at${direction}, id${direction} limit 1)`

const sampleStatement = sql<{ sampled: number; matched: number }>`
with ends as (select ${endOf('')} as oldest_at, ${endOf(' desc')} as newest_at)
select count(*)::integer as sampled, count(*) filter (where search_text like $4)::integer as matched
from ends e
cross join generate_series(1, ${PARTS}) as part
cross join lateral (
  select search_text
  from customers
  where ${IN_PERIOD} and created_at <= e.oldest_at + (e.newest_at - e.oldest_at) * (part / ${PARTS}.0)
  order by created_at desc, id desc
  limit ${PER_PART}
) c`

async function isFrequent(db: Db, values: readonly unknown[]): Promise<boolean> {
  const [sample] = await db.query(sampleStatement, values)
  return sample !== undefined && sample.matched >= sample.sampled * FREQUENT_SHARE
}

type Order = ListWindow['order']
type SearchedRow = { total: number } & (CustomerRow | { id: null })

const directionOf = (order: Order) => (order === 'desc' ? ' desc' : '')

function isAfter(order: Order, [time, id]: readonly [string, string]): string {
  const operator = order === 'desc' ? '<' : '>'
  return `created_at ${operator}= ${time}::timestamptz and (created_at, id) ${operator} (${time}::timestamptz, ${id}::uuid)`
}

/** The customers of the relation `page`, and how many were found. */
const shown = (order: Order) => `
select (select count(*)::integer from found) as total, c.*
from (select 1) as one
left join (
  select ${CUSTOMER.select()}
  from customers
  where merchant_id = $1 and id = any (array(select id from page))
) c on true
order by c."createdAt"${directionOf(order)}, c.id${directionOf(order)}`

/** Each is compared. A text with more matches counts as frequent. */
const MOST_FOUND = 1_000

/**
 * The n-gram index finds every row that may match; the page is then fetched by its ids. `is true` hides the other
 * conditions from the planner, which would prefer their index without knowing how many rows the merchant has. The n-grams
 * ($5) are in a sub-select, because otherwise PostgreSQL plans again for each text.
 */
const finding = (order: Order) => sql<SearchedRow>`
with found as materialized (
  select id, created_at
  from searched_customers
  where search_ngrams(merchant_id, search_text) @@ (select $5::tsquery)
    and (search_text like $4 and ${IN_PERIOD}) is true
  limit ${String(MOST_FOUND + 1)}
),
page as (
  select id
  from found
  where ${isAfter(order, ['$6', '$7'])}
  order by created_at${directionOf(order)}, id${directionOf(order)}
  limit $8
  offset $9
)${shown(order)}`

const FOUND = { desc: finding('desc'), asc: finding('asc') }

const FREQUENT = boundedSearch<CustomerRow>({
  columns: CUSTOMER.select('c'),
  table: 'customers',
  alias: 'c',
  fits: 'c.search_text like $4',
  filterValues: 1,
  most: 2_000,
})

/** Customers have their number in E.164; people read it out as they dial it. */
export const phonesOf = (text: string) => possibleNumbers(text, SERVED_COUNTRIES)

const BY_PHONE = listStatements<CustomerRow>({
  columns: CUSTOMER.select('c'),
  table: 'customers',
  alias: 'c',
  filter: 'c.phone = any ($4::text[])',
  filterValues: 1,
  findsByFilter: true,
})

const pageValues = (window: ListWindow) => [...keysetPosition(window), window.limit + 1, window.offset]
const rowsOf = (rows: readonly SearchedRow[]) => rows.filter((row) => row.id !== null)

/** Searches for a text, which must be in lower case: a whole phone number, or else a part of a name or e-mail. */
export async function searchCustomerRows(
  db: Db,
  merchantId: string,
  text: string,
  window: ListWindow,
): Promise<CountedRows<CustomerRow>> {
  const phones = phonesOf(text)
  const called = phones.length > 0 && (await listRows(db, BY_PHONE, merchantId, window, [phones]))
  return called && called.counted > 0 ? called : searchText(db, merchantId, text, window)
}

async function searchText(
  db: Db,
  merchantId: string,
  text: string,
  window: ListWindow,
): Promise<CountedRows<CustomerRow>> {
  const values = [...periodValues(merchantId, window), substringPattern(text)]
  if (await isFrequent(db, values)) return searchFrequent(db, merchantId, text, window)
  const grams = searchQueryOf(merchantId, text)
  const rows = await db.query(FOUND[window.order], [...values, grams, ...pageValues(window)])
  const counted = rows[0]?.total ?? 0
  return counted > MOST_FOUND ? searchFrequent(db, merchantId, text, window) : { rows: rowsOf(rows), counted }
}

/** The customer with exactly this e-mail, or the newest ones that have the text. */
async function searchFrequent(
  db: Db,
  merchantId: string,
  text: string,
  window: ListWindow,
): Promise<CountedRows<CustomerRow>> {
  const page = await searchBounded(db, FREQUENT, merchantId, window, [substringPattern(text)])
  const exact = page.isPartial ? await findCustomerByEmail(db, merchantId, text) : undefined
  if (!exact || !isInPeriod(exact, window)) return page
  return { rows: window.after === null && window.offset === 0 ? [exact] : [], counted: 1, isPartial: true }
}

const isInPeriod = ({ createdAt }: CustomerRow, { createdFrom, createdTo }: ListWindow) =>
  (createdFrom === null || createdAt >= createdFrom) && (createdTo === null || createdAt <= createdTo)

const selectByPhone = sql<{ id: string }>`
select id
from customers
where merchant_id = $1 and phone = any ($2::text[])
limit 100`

export async function findCustomersByPhones(
  db: Db,
  merchantId: string,
  phones: readonly string[],
): Promise<string[]> {
  return (await db.query(selectByPhone, [merchantId, phones])).map(({ id }) => id)
}
