// The statements of the payment lists. A list is read in one of four ways, so that a page costs the same with a million
// payments as with ten:
//
// - all payments of a period, by time;
// - the payments of one customer or link, which are few;
// - the payments with certain values of a few columns (FILTERED), once for each combination of values;
// - the payments that an index of its own finds (found-queries.ts), if these are few enough to sort.
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
import { PAYMENT_STATUSES } from '../payments/states.ts'
import type { PaymentFilter } from './filters.ts'
import {
  FIRST_OWN_VALUE,
  FITS,
  FITS_DETAILS,
  FITS_SEARCH,
  FITS_TEXT,
  FITS_TUPLE,
  findersOf,
  PAYMENTS,
} from './found-queries.ts'

export async function listPaymentRows(
  db: Db,
  merchantId: string,
  filter: PaymentFilter,
  requested: ListWindow,
  cappedLists?: CappedLists,
): Promise<CountedRows<PaymentRow>> {
  const { statements, values } = await sourceOf(db, merchantId, filter)
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
  return { rows, counted }
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

interface Source {
  statements: ListStatements<PaymentRow>
  values: readonly unknown[]
}

async function sourceOf(db: Db, merchantId: string, filter: PaymentFilter): Promise<Source> {
  const { kinds, customerId, linkId } = filter
  const values = filterValues(filter)
  if (customerId !== null) return { statements: OF_CUSTOMER, values: [...values, customerId] }
  if (linkId !== null) return { statements: OF_LINK, values: [...values, linkId] }
  for (const { isFew, statements, own } of findersOf(merchantId, filter))
    if (await isFew(db)) return { statements, values: [...values, ...own] }
  const isPlain = values.slice(1).every((value) => value === null)
  return isPlain ? { statements: ALL, values: [kinds] } : { statements: FILTERED, values }
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

const NULLABLE_COLUMNS = ['channel', 'failure_code', 'status_reason']
const FURTHER_COLUMNS = ['currency', 'gateway', ...NULLABLE_COLUMNS]
const TUPLE_COLUMNS = ['kind', 'status', ...FURTHER_COLUMNS]

/**
 * A column as the index payments_by_filter has it. A row comparison with null would find nothing. With coalesce the index
 * would not be used under row-level security (migrations/0032_list_filters_under_row_level_security.sql).
 */
const indexed = (column: string) =>
  NULLABLE_COLUMNS.includes(column)
    ? `(case when p.${column} is null then '' else p.${column} end)`
    : `p.${column}`

const FURTHER = FURTHER_COLUMNS.map(indexed).join(', ')

const firstTuple = (condition: string) => `
    select ${TUPLE_COLUMNS.map((column) => `${indexed(column)} as ${column}`).join(', ')}
    from payments p
    where p.merchant_id = $1 and p.kind = t.kind and p.status = t.status${condition}
    order by ${FURTHER}
    limit 1`

/**
 * The combinations of these columns that the merchant has, found by a loose index scan for each kind and status, and of them
 * those that fit the filter. There are a few dozen, or hundreds with many gateways and reasons of failure.
 */
const FITTING_TUPLES = `
with recursive tuples as (
  select earliest.*
  from (
    select distinct kind, status
    from unnest($4::text[]) as kinds (kind)
    cross join unnest(coalesce($5::text[], '{${PAYMENT_STATUSES.join(', ')}}')) as statuses (status)
  ) t
  cross join lateral (${firstTuple('')}
  ) earliest
  union all
  select following.*
  from tuples t
  cross join lateral (${firstTuple(`
      and (${FURTHER}) > (${FURTHER_COLUMNS.map((column) => `t.${column}`).join(', ')})`)}
  ) following
),
fitting as (
  select *
  from tuples p
  where ${FITS_TUPLE}
)`

const FILTERED = listStatements<PaymentRow>({
  ...PAYMENTS,
  columns: PAYMENT_COLUMNS,
  prelude: FITTING_TUPLES,
  perRowOf: 'fitting',
  filter: `${TUPLE_COLUMNS.map((column) => `${indexed(column)} = f.${column}`).join('\n    and ')}
    and ${FITS_DETAILS}
    and ${FITS_TEXT}`,
  filterValues: VALUES_BEFORE_OWN,
})
