// Finds payments by a filter that has an index of its own: a reference of the provider, metadata, an amount, or the time of
// payment. If it finds few payments, the list sorts them. If it finds many, the list compares a bounded number of the newest,
// or those of the time of payment.

import { type Db, type Statement, sql } from '../kit/db/db.ts'
import { type ListStatements, listStatements } from '../kit/db/list-statements.ts'
import { PAYMENT_COLUMNS, type PaymentRow } from '../payments/payment.ts'
import type { PaymentFilter } from './filters.ts'

export const PAYMENTS = { table: 'payments', alias: 'p' }

// The values of a filter: $4 kinds, $5 statuses, $6 currency, $7 gateway, $8 channel, $9 failure code, $10 status reason,
// $11 pattern, $12 and $13 amount, $14 and $15 time of payment, $16 metadata, $17 references of
// the provider, $18 the search as such references, and from $19 on those of its own.

export const FIRST_OWN_VALUE = 19

/** The columns that have few values. */
export const FITS_TUPLE = `
  p.kind = any ($4::text[])
  and ($5::text[] is null or p.status = any ($5))
  and ($6::text is null or p.currency = $6)
  and ($7::text is null or p.gateway = $7)
  and ($8::text is null or p.channel = $8)
  and ($9::text is null or p.failure_code = $9)
  and ($10::text is null or p.status_reason = $10)`

/** The names at the provider are not compared: a list in order of time would read the attempts of every payment. */
export const FITS_TEXT =
  '($11::text is null or p.reference ilike $11 or p.customer_email ilike $11) and ($18::text[] is null or true)'

const PROVIDER_COLUMNS = ['gateway_reference', 'earlier_reference', 'receipt_number', 'gateway_key'] as const

/** With the offset, PostgreSQL reads the attempts of the payment; it might otherwise read all attempts of the merchant once. */
const hasProviderReference = (references: string) => `exists (
      select
      from attempts a
      where a.merchant_id = p.merchant_id
        and a.payment_id = p.id
        and (${PROVIDER_COLUMNS.map((column) => `a.${column} = any (${references}::text[])`).join(' or ')})
      offset 0
    )`

/** The other filters, but not the search. */
export const FITS_DETAILS = `
  ($12::bigint is null or hundredths_of(p.amount_minor, p.currency) >= $12)
  and ($13::bigint is null or hundredths_of(p.amount_minor, p.currency) <= $13)
  and ($14::timestamptz is null or p.paid_at >= $14)
  and ($15::timestamptz is null or p.paid_at <= $15)
  and (
    $16::jsonb is null
    or not exists (select from jsonb_each_text($16) w where p.metadata ->> w.key is distinct from w.value)
  )
  and ($17::text[] is null or ${hasProviderReference('$17')})`

/** Every filter but the search. */
export const FITS = `${FITS_TUPLE}
  and ${FITS_DETAILS}`

/** For lists that compare few payments: it also reads the attempts of those that have another text. */
export const FITS_SEARCH = `(
    $11::text is null
    or p.reference ilike $11
    or p.customer_email ilike $11
    or ${hasProviderReference('$18')}
  )`
/** Compares no text; the parameters must have a type. */
export const HAS_SEARCH_VALUES = '($11::text is null or $18::text[] is null or true)'

/** Few enough to sort. */
const MAX_FOUND = 10_000
const LIMIT = String(MAX_FOUND + 1)

export interface Finder {
  isFew(db: Db): Promise<boolean>
  statements: ListStatements<PaymentRow>
  /** The values after those of the filter. */
  own: readonly unknown[]
}

type Add = (
  count: Statement<Matches>,
  statements: ListStatements<PaymentRow>,
  own: readonly unknown[],
) => void

function finders(merchantId: string, fill: (add: Add) => void): Finder[] {
  const all: Finder[] = []
  fill((count, statements, own) =>
    all.push({ isFew: (db) => areFew(db, count, [merchantId, ...own]), statements, own }),
  )
  return all
}

/** More selective than a search. */
export function exactFindersOf(merchantId: string, { gatewayReferences, metadata }: PaymentFilter): Finder[] {
  return finders(merchantId, (add) => {
    if (gatewayReferences !== null) add(countByGatewayReference, BY_GATEWAY_REFERENCE, [gatewayReferences])
    if (metadata !== null) add(countByMetadata, BY_METADATA, [JSON.stringify(metadata)])
  })
}

export function rangeFindersOf(merchantId: string, filter: PaymentFilter): Finder[] {
  const { minHundredths, maxHundredths, paidFrom, paidTo } = filter
  return finders(merchantId, (add) => {
    if (minHundredths !== null || maxHundredths !== null)
      add(countByAmount, BY_AMOUNT, [minHundredths ?? 0n, maxHundredths ?? MAX_BIGINT])
    if (paidFrom !== null || paidTo !== null)
      add(countByPaymentTime, BY_PAYMENT_TIME, [paidFrom ?? '-infinity', paidTo ?? 'infinity'])
  })
}

const MAX_BIGINT = 2n ** 63n - 1n

interface Matches {
  matches: number
}

async function areFew(db: Db, count: Statement<Matches>, values: readonly unknown[]): Promise<boolean> {
  const [counted] = await db.query(count, values)
  return counted !== undefined && counted.matches <= MAX_FOUND
}

/** The parameters of a finder: $2, $3, … where it counts, and from FIRST_OWN_VALUE on where it lists. */
const counting = (index: number) => `$${index + 2}`
const listing = (index: number) => `$${index + FIRST_OWN_VALUE}`
type Parameter = typeof counting

/** By the number on the payer's receipt, which is a part of the id. Null, if the search is none. */
export const foundByReceipt = ([first, last, tail]: readonly [string, string, string]) => `
  select p.id
  from payments p
  where p.merchant_id = $1
    and p.id between ${first}::uuid and ${last}::uuid
    and right(p.id::text, 3) = ${tail}::text`

// Each name of the provider has an index of its own.
export const foundByProvider = (references: string) =>
  PROVIDER_COLUMNS.map(
    (column) => `
  select a.payment_id as id
  from attempts a
  where a.merchant_id = $1 and a.${column} = any (${references}::text[])`,
  ).join('\n  union')

const foundByMetadata = (value: Parameter) => `
  select r.payment_id as id
  from searched_references r
  where r.metadata_terms @> metadata_terms($1::uuid, ${value(0)}::jsonb)
    and (r.merchant_id = $1) is true`

const foundByAmount = (value: Parameter) => `
  select r.payment_id as id
  from payment_references r
  where r.merchant_id = $1
    and r.amount_hundredths >= ${value(0)}::bigint
    and r.amount_hundredths <= ${value(1)}::bigint`

const foundByPaymentTime = (value: Parameter) => `
  select p.id
  from payments p
  where p.merchant_id = $1 and p.paid_at >= ${value(0)}::timestamptz and p.paid_at <= ${value(1)}::timestamptz`

const counted = (found: string) => `(select count(*)::integer from (${found} limit ${LIMIT}) found)`

const countByGatewayReference = sql<Matches>`
select ${counted(foundByProvider(counting(0)))} as matches`

const countByMetadata = sql<Matches>`
select ${counted(foundByMetadata(counting))} as matches`

// In order, so that the server reads the index and stops at the limit.
const countByAmount = sql<Matches>`
select ${counted(`${foundByAmount(counting)} order by r.amount_hundredths`)} as matches`

const countByPaymentTime = sql<Matches>`
select ${counted(`${foundByPaymentTime(counting)} order by p.paid_at`)} as matches`

/**
 * With an array the planner uses the primary key, whatever it expects of the array's length; a join might become a scan.
 */
function found(ids: string, ownValues: number) {
  return {
    ...PAYMENTS,
    columns: PAYMENT_COLUMNS,
    prelude: `with found as materialized (${ids}
)`,
    findsByFilter: true,
    filterValues: FIRST_OWN_VALUE - 4 + ownValues,
  }
}

const IS_FOUND = 'p.id = any (array(select id from found))'

/** The payments with these ids. The text is not compared again. */
export const BY_IDS = listStatements<PaymentRow>({
  ...PAYMENTS,
  columns: PAYMENT_COLUMNS,
  findsByFilter: true,
  filter: `p.id = any ($${FIRST_OWN_VALUE}::uuid[]) and ${FITS} and ${HAS_SEARCH_VALUES}`,
  filterValues: FIRST_OWN_VALUE - 4 + 1,
})

const BY_GATEWAY_REFERENCE = listStatements<PaymentRow>({
  ...found(foundByProvider(listing(0)), 1),
  filter: `${IS_FOUND} and ${FITS} and ${FITS_SEARCH}`,
})

const BY_METADATA = listStatements<PaymentRow>({
  ...found(foundByMetadata(listing), 1),
  filter: `${IS_FOUND} and ${FITS} and ${FITS_SEARCH}`,
})

const BY_AMOUNT = listStatements<PaymentRow>({
  ...found(foundByAmount(listing), 2),
  filter: `${IS_FOUND} and ${FITS} and ${FITS_SEARCH}`,
})

const BY_PAYMENT_TIME = listStatements<PaymentRow>({
  ...found(foundByPaymentTime(listing), 2),
  filter: `${IS_FOUND} and ${FITS} and ${FITS_SEARCH}`,
})
