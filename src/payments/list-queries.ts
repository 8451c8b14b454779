// The lists of payments and charges. Every filter has an index that begins with the merchant, and no statement reads more
// of it than the page and its offset need. So a page costs the same with a million payments as with ten.

import { searchQueryOf } from '../core/search-text.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { countRows, listStatements, readPage } from '../kit/db/list-statements.ts'
import { type CountedRows, countUpToCap, type ListWindow, substringPattern } from '../kit/db/pagination.ts'
import { PAYMENT_COLUMNS, type PaymentRow } from './payment.ts'

export interface PaymentFilter {
  /** Null: payments and charges together, which only the lists of a customer and of a link show. */
  kind: 'checkout' | 'charge' | null
  customerId: string | null
  linkId: string | null
  status: string | null
  currency: string | null
  gateway: string | null
  /** Lower case; a part of the reference or of the e-mail, whatever its case. */
  search: string | null
}

export async function listPaymentRows(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  window: ListWindow,
  cappedLists?: Set<string>,
): Promise<CountedRows<PaymentRow>> {
  const { statements, values } = await sourceOf(db, merchantId, filter)
  const count = () => countRows(db, statements, merchantId, window, values)
  // Payments are never deleted and never change their kind, so a list that has reached the cap stays there.
  const isUnbounded = statements === ALL && window.createdFrom === null && window.createdTo === null
  const [rows, counted] = await Promise.all([
    readPage(db, statements, merchantId, window, values),
    isUnbounded ? countUpToCap(cappedLists, `payments:${filter.kind}:${merchantId}`, count) : count(),
  ])
  return { rows, counted }
}

async function sourceOf(db: Db, merchantId: string, filter: PaymentFilter) {
  const { kind, customerId, linkId, status, currency, gateway, search } = filter
  const pattern = search === null ? null : substringPattern(search)
  const values = [kind, status, currency, gateway, pattern]
  if (customerId !== null) return { statements: OF_CUSTOMER, values: [...values, customerId] }
  if (linkId !== null) return { statements: OF_LINK, values: [...values, linkId] }
  if (search !== null && HAS_TRIGRAM.test(search)) {
    const patterns = [substringPattern(selectivePart(search)), searchQueryOf(merchantId, search)]
    if (await isSelective(db, merchantId, [pattern, ...patterns]))
      return { statements: FOUND, values: [...values, ...patterns] }
  }
  const isPlain = status === null && currency === null && gateway === null && pattern === null
  return isPlain ? { statements: ALL, values: [kind] } : { statements: FILTERED, values }
}

// A search with fewer matches uses the trigram index and sorts them. A search with more matches reads the list in order of
// time, where it soon has enough for a page.
const MAX_SELECTIVE_MATCHES = 10_000
// Shorter texts have no trigram.
const HAS_TRIGRAM = /[\p{L}\p{N}]{3}/u

// References mostly have the same beginning, so their last characters have the rare trigrams. A longer end often has the
// beginning of a word, and many words have the same beginning.
const SELECTIVE_LENGTH = 6
// A database with the C collation has trigrams of ASCII letters only.
const SELECTIVE = /[a-z0-9]{3}/

function selectivePart(search: string): string {
  const end = Array.from(search).slice(-SELECTIVE_LENGTH).join('')
  return SELECTIVE.test(end) ? end : search
}

const hasReference = (pattern: string, part: string) =>
  `r.merchant_id = $1 and r.reference ilike ${part} and (r.reference ilike ${pattern}) is true`

/** Forces the n-gram index over names and e-mails: another index would read all customers of the merchant. */
const hasEmail = (pattern: string, grams: string) =>
  `search_ngrams(c.merchant_id, c.search_text) @@ ${grams}::tsquery and (c.merchant_id = $1 and c.email_key like ${pattern}) is true`

// Payments are joined by $1 and not by the customer's merchant. With row-level security the planner knows the merchant of
// the payments; it would infer that of the customers and read all of them.
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

/** The patterns are the search text, its selective part, and its n-grams. */
async function isSelective(db: Db, merchantId: string, patterns: readonly unknown[]): Promise<boolean> {
  const [counted] = await db.query(countMatches, [merchantId, ...patterns])
  return counted !== undefined && counted.matches <= MAX_SELECTIVE_MATCHES
}

// The values of a filter: $4 kind, $5 status, $6 currency, $7 gateway, $8 pattern, and from $9 on those of its own.

const PAYMENTS = { columns: PAYMENT_COLUMNS, table: 'payments', alias: 'p' }

const ALL = listStatements<PaymentRow>({ ...PAYMENTS, filter: 'p.kind = $4', filterValues: 1 })

const FITS_STATUS = `
  ($5::text is null or p.status = $5)
  and ($6::text is null or p.currency = $6)
  and ($7::text is null or p.gateway = $7)`

const FITS_PATTERN = '($8::text is null or p.reference ilike $8 or p.customer_email ilike $8)'

const FITS = `($4::text is null or p.kind = $4) and ${FITS_STATUS} and ${FITS_PATTERN}`

const OF_CUSTOMER = listStatements<PaymentRow>({
  ...PAYMENTS,
  filter: `p.customer_id = $9 and ${FITS}`,
  filterValues: 6,
})

const OF_LINK = listStatements<PaymentRow>({
  ...PAYMENTS,
  filter: `p.link_id = $9 and ${FITS}`,
  filterValues: 6,
})

/**
 * The triples of status, currency and gateway that the merchant has, found by a loose index scan, and of them those that
 * fit the filter. There are a few dozen at most.
 */
const FITTING_TRIPLES = `
with recursive triples as (
  (
    select status, currency, gateway
    from payments
    where merchant_id = $1 and kind = $4
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
      and kind = $4
      and (status, currency, gateway) > (t.status, t.currency, t.gateway)
    order by status, currency, gateway
    limit 1
  ) following
),
fitting as (
  select *
  from triples p
  where ${FITS_STATUS}
)`

const FILTERED = listStatements<PaymentRow>({
  ...PAYMENTS,
  prelude: FITTING_TRIPLES,
  perRowOf: 'fitting',
  filter: `p.kind = $4 and p.status = f.status and p.currency = f.currency and p.gateway = f.gateway and ${FITS_PATTERN}`,
  filterValues: 5,
})

/** References and e-mails are searched each with the index of its own table; the union drops duplicates. */
const FOUND_IDS = `
with found as materialized (
  select r.payment_id as id
  from searched_references r
  where ${hasReference('$8', '$9')}
  union
  select p.id
  from searched_customers c
  join payments p on p.merchant_id = $1 and p.customer_id = c.id
  where ${hasEmail('$8', '$10')}
)`

// With an array the planner uses the primary key, whatever it expects of the array's length; a join might become a scan.
// The pattern is not compared again: the customer's e-mail may have changed since the payment.
const FOUND = listStatements<PaymentRow>({
  ...PAYMENTS,
  prelude: FOUND_IDS,
  findsByFilter: true,
  filter: `p.id = any (array(select id from found)) and p.kind = $4 and ${FITS_STATUS}`,
  filterValues: 7,
})
