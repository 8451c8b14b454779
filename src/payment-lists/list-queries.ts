// The statements of the payment lists. A list is read in one of four ways, so that a page costs the same with a million
// payments as with ten:
//
// - all payments of a period, by time;
// - the payments of one customer or link, which are few;
// - the payments with certain values of a few columns (FILTERED), once for each combination of values;
// - the payments that an index of its own finds (found-queries.ts), if these are few enough to sort.
//
// A search for a text is read in a way of its own (search-queries.ts), and so is a list by amount or metadata that
// very many payments have: a bounded number of the newest is compared.
//
// Every statement compares all filters, whichever of them found the rows.

import { type Db, sql } from '../kit/db/db.ts'
import { countRows, type ListStatements, listStatements, readPage } from '../kit/db/list-statements.ts'
import {
  type CappedLists,
  type CountedRows,
  countUpToCap,
  type ListWindow,
  substringPattern,
} from '../kit/db/pagination.ts'
import { PAYMENT_COLUMNS, type PaymentRow } from '../payments/payment.ts'
import type { PaymentFilter } from './filters.ts'
import {
  BY_IDS,
  exactFindersOf,
  FIRST_OWN_VALUE,
  FITS,
  FITS_DETAILS,
  FITS_SEARCH,
  FITS_TEXT,
  type Finder,
  PAYMENTS,
  rangeFindersOf,
} from './found-queries.ts'
import { searchPayments } from './search.ts'
import { lookForText, type Searched } from './search-queries.ts'
import { FITTING_TUPLES, HAS_TUPLE } from './tuple-queries.ts'

export async function listPaymentRows(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  requested: ListWindow,
  cappedLists?: CappedLists,
): Promise<CountedRows<PaymentRow>> {
  const source = await sourceOf(db, merchantId, filter, requested)
  if ('searched' in source) {
    const whole = await wholeSearch(db, merchantId, filter, requested, source.searched)
    return searchedRows(db, merchantId, source.searched, whole, requested)
  }
  const { statements, values, isPartial } = source
  const window =
    statements === FILTERED ? await boundedByPayment(db, merchantId, filter, requested) : requested
  const count = () => countRows(db, statements, merchantId, window, values)
  // Payments are never deleted and never change their kind, so a list that has reached the cap stays there.
  const isUnbounded = statements === ALL && window.createdFrom === null && window.createdTo === null
  const [rows, counted] = await Promise.all([
    readPage(db, statements, merchantId, window, values),
    isUnbounded
      ? countUpToCap(cappedLists, `payments:${filter.kinds}:${merchantId}`, count)
      : countUpToCap(cappedLists, nameOf(merchantId, values, window), count, KEEP_CAPPED_MS),
  ])
  return { rows, counted, isPartial }
}

const selectByIds = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = any ($2::uuid[])`

/** The same search from its first page on, which has the total. */
async function wholeSearch(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  window: ListWindow,
  searched: Searched,
): Promise<Searched> {
  if (window.after === null || window.withoutTotal) return searched
  const first = await sourceOf(db, merchantId, filter, { ...window, after: null })
  return 'searched' in first ? first.searched : searched
}

async function searchedRows(
  db: Db,
  merchantId: string,
  { ids, lastAt, lastId }: Searched,
  whole: Searched,
  { offset }: ListWindow,
): Promise<CountedRows<PaymentRow>> {
  const wanted = ids.slice(offset)
  const rows = wanted.length === 0 ? [] : await db.query(selectByIds, [merchantId, wanted])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return {
    rows: wanted.flatMap((id) => byId.get(id) ?? []),
    counted: whole.total,
    isPartial: whole.lastId !== null,
    ...(lastAt && lastId && { lookedTo: { at: lastAt, id: lastId } }),
  }
}

// The status of payments changes, so a list that exceeds the cap may shrink.
const KEEP_CAPPED_MS = 60_000

function nameOf(merchantId: string, values: readonly unknown[], window: ListWindow): string {
  const named = [merchantId, ...values, window.createdFrom, window.createdTo]
  return JSON.stringify(named, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

// The clock of a provider may be behind ours.
const CLOCK_SKEW_MS = 3_600_000
// Almost all payments are paid within this time; payments_paid_late (migrations) has the others.
const USUALLY_PAID_MS = 7 * 24 * 3_600_000

const selectEarliestLate = sql<{ earliest: Date | null }>`
select min(created_at) as earliest
from payments
where merchant_id = $1
  and paid_at >= $2::timestamptz
  and paid_at <= $3::timestamptz
  and paid_at - created_at > interval '7 days'`

/** A list in order of time reads no payments that are too new or too old to have been paid in the period. */
async function boundedByPayment(
  db: Db,
  merchantId: string,
  { paidFrom, paidTo }: PaymentFilter,
  window: ListWindow,
): Promise<ListWindow> {
  if (paidFrom === null && paidTo === null) return window
  const [late] = await db.query(selectEarliestLate, [
    merchantId,
    paidFrom ?? '-infinity',
    paidTo ?? 'infinity',
  ])
  const times = (...dates: (Date | null | undefined)[]) => dates.flatMap((date) => date?.getTime() ?? [])
  const usual = paidFrom === null ? Number.NEGATIVE_INFINITY : paidFrom.getTime() - USUALLY_PAID_MS
  const from = Math.max(Math.min(usual, ...times(late?.earliest)), ...times(window.createdFrom))
  const to = Math.min(
    ...times(window.createdTo),
    (paidTo?.getTime() ?? Number.POSITIVE_INFINITY) + CLOCK_SKEW_MS,
  )
  return {
    ...window,
    createdFrom: Number.isFinite(from) ? new Date(from) : null,
    createdTo: Number.isFinite(to) ? new Date(to) : null,
  }
}

interface Listed {
  statements: ListStatements<PaymentRow>
  values: readonly unknown[]
  /** There are more payments that have the text among others. */
  isPartial?: true
}

type Source = Listed | { searched: Searched }

async function sourceOf(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  window: ListWindow,
): Promise<Source> {
  const { kinds, customerId, linkId } = filter
  const values = filterValues(filter)
  if (customerId !== null) return { statements: OF_CUSTOMER, values: [...values, customerId] }
  if (linkId !== null) return { statements: OF_LINK, values: [...values, linkId] }
  const few = await firstFew(db, exactFindersOf(merchantId, filter), values)
  if (few) return few
  if (filter.search !== null) return searchSource(db, merchantId, filter, window)
  const isPlain = values.slice(1).every((value) => value === null)
  if (isPlain) return { statements: ALL, values: [kinds] }
  const inRange = await firstFew(db, rangeFindersOf(merchantId, filter), values)
  if (inRange) return inRange
  if (!hasDetails(filter)) return { statements: FILTERED, values }
  const bounded = await boundedByPayment(db, merchantId, filter, window)
  return { searched: await lookForText(db, merchantId, bounded, values, []) }
}

/**
 * Many payments have them, maybe only old ones: a list in order of time could read all newer ones for its first page. The time
 * of payment bounds the list itself.
 */
const hasDetails = ({ minHundredths, maxHundredths, metadata }: PaymentFilter) =>
  [minHundredths, maxHundredths, metadata].some((value) => value !== null)

async function firstFew(db: Db, finders: readonly Finder[], values: readonly unknown[]) {
  for (const { isFew, statements, own } of finders)
    if (await isFew(db)) return { statements, values: [...values, ...own] }
  return undefined
}

/** Of a frequent text: the payments that have it as a whole, those in a narrow range, or the newest ones that have it. */
async function searchSource(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  requested: ListWindow,
): Promise<Source> {
  const values = filterValues(filter)
  const window = await boundedByPayment(db, merchantId, filter, requested)
  const found = await searchPayments(db, merchantId, filter, values, window)
  if ('searched' in found) return found
  const { exact, customerId, isPartial } = found
  if (exact.length > 0)
    return { statements: BY_IDS, values: [...values, exact], ...(isPartial && { isPartial }) }
  if (customerId !== null)
    return { statements: OF_CUSTOMER, values: [...values, customerId], isPartial: true }
  const inRange = await firstFew(db, rangeFindersOf(merchantId, filter), values)
  return inRange ?? { searched: await lookForText(db, merchantId, window, values, []) }
}

/** In the order of the parameters in found-queries.ts, from $4 on. */
function filterValues(filter: PaymentFilter): unknown[] {
  return [
    filter.kinds,
    filter.statuses,
    filter.currency,
    filter.gateway,
    filter.channel,
    filter.failureCode,
    filter.statusReason,
    filter.search === null ? null : substringPattern(filter.search),
    filter.minHundredths,
    filter.maxHundredths,
    filter.paidFrom,
    filter.paidTo,
    filter.metadata && JSON.stringify(filter.metadata),
    filter.gatewayReferences,
    filter.providerReferences,
  ]
}

const OWN = `$${FIRST_OWN_VALUE}`
const VALUES_BEFORE_OWN = FIRST_OWN_VALUE - 4

const ALL = listStatements<PaymentRow>({
  ...PAYMENTS,
  columns: PAYMENT_COLUMNS,
  prelude: 'with kinds as (select unnest($4::text[]) as kind)',
  perRowOf: 'kinds',
  filter: 'p.kind = f.kind',
  filterValues: 1,
})

const OF_CUSTOMER = listStatements<PaymentRow>({
  ...PAYMENTS,
  columns: PAYMENT_COLUMNS,
  filter: `p.customer_id = ${OWN} and ${FITS} and ${FITS_SEARCH}`,
  filterValues: VALUES_BEFORE_OWN + 1,
})

const OF_LINK = listStatements<PaymentRow>({
  ...PAYMENTS,
  columns: PAYMENT_COLUMNS,
  filter: `p.link_id = ${OWN} and ${FITS} and ${FITS_SEARCH}`,
  filterValues: VALUES_BEFORE_OWN + 1,
})

const FILTERED = listStatements<PaymentRow>({
  ...PAYMENTS,
  columns: PAYMENT_COLUMNS,
  prelude: FITTING_TUPLES,
  perRowOf: 'fitting',
  filter: `${HAS_TUPLE}
    and ${FITS_DETAILS}
    and ${FITS_TEXT}`,
  filterValues: VALUES_BEFORE_OWN,
})
