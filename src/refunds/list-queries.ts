// The lists of refunds, with keyset pagination. Every filter uses an index that begins with the merchant and reads only the
// page and its offset, so a rare value is found as fast among a million refunds as among ten.

import { sql, type Tx } from '../kit/db/db.ts'
import {
  countRows,
  type ListStatements,
  listRows,
  listStatements,
  readPage,
} from '../kit/db/list-statements.ts'
import { boundedSearch, searchBounded } from '../kit/db/lists/bounded-search.ts'
import { type CappedLists, type CountedRows, countUpToCap, type ListWindow } from '../kit/db/pagination.ts'
import { REFUND, type RefundRow } from './refund.ts'

export interface RefundFilter {
  status: string | null
  paymentId: string | null
  refundReference: string | null
  gatewayReference: string | null
  currency: string | null
  /** A like pattern in lower case, already escaped, over the references of payments. */
  pattern: string | null
  /** The same search as a whole id of the refund at the provider. */
  providerReference: string | null
}

export async function listRefundRows(
  db: Tx,
  merchantId: string,
  filter: RefundFilter,
  window: ListWindow,
  cappedLists?: CappedLists,
): Promise<CountedRows<RefundRow>> {
  const { pattern } = filter
  const isSelective = isNamed(filter) || (pattern !== null && (await isRare(db, merchantId, pattern)))
  if (pattern !== null && !isSelective) return searchFrequent(db, merchantId, filter, window)
  const { statements, values } = chooseStatements(filter, isSelective)
  const name = `refunds:${JSON.stringify([merchantId, values, window.createdFrom, window.createdTo])}`
  const [rows, counted] = await Promise.all([
    readPage(db, statements, merchantId, window, values),
    countUpToCap(
      cappedLists,
      name,
      () => countRows(db, statements, merchantId, window, values),
      KEEP_CAPPED_MS,
    ),
  ])
  return { rows, counted }
}

// The status of refunds changes, so a list that exceeds the cap may shrink.
const KEEP_CAPPED_MS = 60_000

interface Choice {
  statements: ListStatements<RefundRow>
  values: unknown[]
}

const isNamed = ({ paymentId, refundReference, gatewayReference }: RefundFilter) =>
  [paymentId, refundReference, gatewayReference].some((name) => name !== null)

function chooseStatements(filter: RefundFilter, isSelective: boolean): Choice {
  const { status, currency } = filter
  if (isSelective) return { statements: FOUND, values: foundValues(filter) }
  const isUnfiltered = status === null && currency === null
  return isUnfiltered ? { statements: ALL, values: [] } : { statements: FILTERED, values: [status, currency] }
}

function foundValues(filter: RefundFilter): unknown[] {
  const { status, currency, pattern, paymentId, refundReference, gatewayReference, providerReference } =
    filter
  return [status, currency, pattern, paymentId, refundReference, gatewayReference, providerReference]
}

/** The refund with exactly this reference at the provider, or the newest refunds that have the text. */
async function searchFrequent(
  db: Tx,
  merchantId: string,
  filter: RefundFilter,
  window: ListWindow,
): Promise<CountedRows<RefundRow>> {
  const { status, currency, pattern, providerReference: gatewayReference } = filter
  const exact = { ...filter, gatewayReference, pattern: null, providerReference: null }
  const named = await listRows(db, FOUND, merchantId, window, foundValues(exact))
  // Exports count nothing.
  if (named.counted > 0 || named.rows.length > 0) return { ...named, isPartial: true }
  return searchBounded(db, FREQUENT, merchantId, window, [status, currency, pattern])
}

// The trigram index finds a pattern with at most this many matches, and the matches are sorted. Of a more frequent one, or one
// that is too short for the index, the newest refunds are compared.
const RARE = 10_000
// A shorter text has no trigram of its own.
const TRIGRAM_PATTERN = 3 + '%%'.length

const countMatchesStatement = sql<{ matches: number }>`
select count(*)::integer as matches
from (
  select 1
  from searched_refunds
  where merchant_id = $1 and lower(payment_reference) like $2
  limit ${String(RARE + 1)}
) counted`

async function isRare(db: Tx, merchantId: string, pattern: string): Promise<boolean> {
  if (pattern.length < TRIGRAM_PATTERN) return false
  const [counted] = await db.query(countMatchesStatement, [merchantId, pattern])
  return counted !== undefined && counted.matches <= RARE
}

const SOURCE = { columns: REFUND.select('r'), table: 'refunds', alias: 'r' }

const ALL = listStatements<RefundRow>(SOURCE)

// A loose index scan finds the pairs of status and currency that the merchant has: each step skips to the next pair in the
// index. The page is then read once per pair. $4 is the status, $5 the currency.
const FILTERED = listStatements<RefundRow>({
  ...SOURCE,
  prelude: `
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
matching as (
  select *
  from pairs
  where ($4::text is null or status = $4)
    and ($5::text is null or currency = $5)
)`,
  perRowOf: 'matching',
  filter: `
  r.status = f.status
  and r.currency = f.currency`,
  filterValues: 2,
})

const FREQUENT = boundedSearch<RefundRow>({
  ...SOURCE,
  fits: `($4::text is null or r.status = $4) and ($5::text is null or r.currency = $5)
    and lower(r.payment_reference) like $6`,
  filterValues: 3,
  most: 2_000,
})

const IS_UNNAMED = '$7::uuid is null and $8::text is null and $9::text is null'

// The refunds of one payment, the refund with a reference, or else those that match a rare pattern: few in each case. $7 is
// the payment, $8 the refund's reference, $9 its reference at the provider, $10 the search as such a reference.
const FOUND = listStatements<RefundRow>({
  ...SOURCE,
  prelude: `
with found as materialized (
  select id
  from refunds
  where merchant_id = $1 and payment_id = $7
  union
  select refund_id
  from refund_references
  where merchant_id = $1 and reference = $8
  union
  select id
  from refunds
  where merchant_id = $1 and gateway_reference = $9
  union
  select id
  from searched_refunds
  where merchant_id = $1 and ${IS_UNNAMED} and lower(payment_reference) like $6
  union
  select id
  from refunds
  where merchant_id = $1 and ${IS_UNNAMED} and gateway_reference = $10
)`,
  findsByFilter: true,
  filter: `
  r.id = any (array(select id from found))
  and ($4::text is null or r.status = $4)
  and ($5::text is null or r.currency = $5)
  and ($6::text is null or lower(r.payment_reference) like $6 or r.gateway_reference = $10)
  and ($7::uuid is null or r.payment_id = $7)
  and ($8::text is null or r.refund_reference = $8)
  and ($9::text is null or r.gateway_reference = $9)`,
  filterValues: 7,
})
