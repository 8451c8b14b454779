// The list of customers, with keyset pagination, and the search over names and e-mails. The search chooses its index by how
// frequent the text is: one statement for every text would make the planner guess, and read all of a million customers.

import { COUNT_CAP } from '../core/page.ts'
import { searchQueryOf } from '../core/search-text.ts'
import { type Db, sql } from '../kit/db/db.ts'
import {
  countRows,
  listStatements,
  pageStatements,
  periodValues,
  readPage,
} from '../kit/db/list-statements.ts'
import {
  type CappedLists,
  type CountedRows,
  countUpToCap,
  type ListWindow,
  substringPattern,
} from '../kit/db/pagination.ts'
import { CUSTOMER, type CustomerRow } from './customer.ts'

const SOURCE = { columns: CUSTOMER.select('c'), table: 'customers', alias: 'c' }

const ALL = listStatements<CustomerRow>(SOURCE)

export async function listCustomerRows(
  db: Db,
  merchantId: string,
  window: ListWindow,
  cappedLists?: CappedLists,
): Promise<CountedRows<CustomerRow>> {
  const count = () => countRows(db, ALL, merchantId, window)
  // Customers are never deleted, so a full list stays above the cap. A period may hold few.
  const isUnfiltered = window.createdFrom === null && window.createdTo === null
  const [rows, counted] = await Promise.all([
    readPage(db, ALL, merchantId, window),
    isUnfiltered ? countUpToCap(cappedLists, `customers:${merchantId}`, count) : count(),
  ])
  return { rows, counted }
}

// $1 merchant, $2 from, $3 to, as in every list; a search adds $4, the pattern.
const IN_PERIOD = 'merchant_id = $1 and created_at >= $2::timestamptz and created_at <= $3::timestamptz'
const CAP = String(COUNT_CAP + 1)

// A scan in time order soon meets a frequent text. A sample of the newest customers shows how frequent it is. A merchant
// with no more customers than the sample is searched without the n-gram index.
const SAMPLE_SIZE = 1_000

const sampleStatement = sql<{ sampled: number; matched: number }>`
select count(*)::integer as sampled, count(*) filter (where search_text like $4)::integer as matched
from (
  select search_text
  from customers
  where ${IN_PERIOD}
  order by created_at desc, id desc
  limit ${String(SAMPLE_SIZE)}
) newest`

const MATCHING = pageStatements<CustomerRow>({
  ...SOURCE,
  filter: 'c.search_text like $4',
  filterValues: 1,
})

// Enough to count beyond the cap where every second customer matches.
const SCAN_LIMIT = String(3 * COUNT_CAP)

const countMatchingStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from (
    select search_text
    from customers
    where ${IN_PERIOD}
    order by created_at desc, id desc
    limit ${SCAN_LIMIT}
  ) newest
  where search_text like $4
  limit ${CAP}
) counted`

/**
 * The n-gram index finds every row that may match; the page is then fetched by its ids. `is true` hides the other
 * conditions from the planner, which would prefer their index without knowing how many rows the merchant has. The n-grams
 * ($5) are in a sub-select, because otherwise PostgreSQL plans again for each text.
 */
const foundStatement = (operator: '<' | '>', direction: '' | ' desc') => `
with found as materialized (
  select id, created_at
  from searched_customers
  where search_ngrams(merchant_id, search_text) @@ (select $5::tsquery)
    and (search_text like $4 and ${IN_PERIOD}) is true
  limit ${CAP}
),
page as (
  select id
  from found
  where created_at ${operator}= $6::timestamptz and (created_at, id) ${operator} ($6::timestamptz, $7::uuid)
  order by created_at${direction}, id${direction}
  limit $8
  offset $9
)
select (select count(*)::integer from found) as counted, c.*
from (select 1) as one
left join (
  select ${CUSTOMER.select()}
  from customers
  where merchant_id = $1 and id = any (array(select id from page))
) c on true
order by c."createdAt"${direction}, c.id${direction}`

type FoundRow = { counted: number } & (CustomerRow | { id: null })

const newestFound = sql<FoundRow>`${foundStatement('<', ' desc')}`
const oldestFound = sql<FoundRow>`${foundStatement('>', '')}`
const FOUND = { newest: newestFound, oldest: oldestFound }

/** Searches for a text, which must be in lower case. */
export async function searchCustomerRows(
  db: Db,
  merchantId: string,
  text: string,
  window: ListWindow,
): Promise<CountedRows<CustomerRow>> {
  const pattern = substringPattern(text)
  const readMatching = async (counted: number) => ({
    rows: await readPage(db, MATCHING, merchantId, window, [pattern]),
    counted,
  })
  const values = [...periodValues(merchantId, window), pattern]
  const [sample = { sampled: 0, matched: 0 }] = await db.query(sampleStatement, values)
  if (sample.sampled < SAMPLE_SIZE) return readMatching(sample.matched)
  if (sample.matched * 2 >= sample.sampled) {
    const [counted] = await db.query(countMatchingStatement, values)
    if (counted && counted.total > COUNT_CAP) return readMatching(counted.total)
  }
  const rows = await readPage(db, FOUND, merchantId, window, [pattern, searchQueryOf(merchantId, text)])
  const counted = rows[0]?.counted ?? 0
  return counted > COUNT_CAP
    ? readMatching(counted)
    : { rows: rows.filter((row) => row.id !== null), counted }
}
