// The search for a text in the payments of a merchant. Its work is bounded, whatever the text is:
//
// - A text that is not frequent is found by the indexes over references and e-mails, of which the newest matches are read.
// - A frequent text, such as the beginning of all references, is compared with the newest payments.
// - If a text with more matches than are read is itself a whole reference, receipt code or e-mail, the search finds the
//   payments with exactly this, however old they are.
//
// Where a search stops before the last payment, its page says so, and the cursor continues there.

import { searchQueryOf } from '../core/search-text.ts'
import { type Db, type Statement, sql } from '../kit/db/db.ts'
import { periodValues } from '../kit/db/list-statements.ts'
import { keysetPosition, type ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import {
  FIRST_OWN_VALUE,
  FITS,
  FITS_TEXT,
  foundByProvider,
  foundByReceipt,
  HAS_SEARCH_VALUES,
} from './found-queries.ts'
import { FITTING_TUPLES, HAS_TUPLE } from './tuple-queries.ts'

type Order = ListWindow['order']

export interface Searched {
  /** The payments of the page and one more, in order. */
  ids: string[]
  /** How many of those that were looked at fit. */
  total: number
  /** The last one that was looked at, if there may be more. */
  lastAt: Date | null
  lastId: string | null
}

const own = (index: number) => `$${FIRST_OWN_VALUE + index}`
const directionOf = (order: Order) => (order === 'desc' ? ' desc' : '')
const ordered = (order: Order, alias: string) =>
  `order by ${alias}.created_at${directionOf(order)}, ${alias}.id${directionOf(order)}`

/** In the period of the list and after its cursor. */
function isInside(order: Order, alias: string, [time, id]: readonly [string, string]): string {
  const operator = order === 'desc' ? '<' : '>'
  return `${alias}.created_at >= $2::timestamptz
      and ${alias}.created_at <= $3::timestamptz
      and ${alias}.created_at ${operator}= ${time}::timestamptz
      and (${alias}.created_at, ${alias}.id) ${operator} (${time}::timestamptz, ${id}::uuid)`
}

/** Of the payments that the relation `looked` has, those that fit. */
const matched = (order: Order, ids: string, condition: string, most: string, take: string) => `
matched as materialized (
  select p.created_at, p.id
  from payments p
  where p.merchant_id = $1 and p.id = any (array(${ids})) and ${condition}
),
stopped as (
  select l.created_at, l.id
  from looked l
  ${ordered(order, 'l')}
  offset ${most} - 1
  limit 1
)
select
  array(select m.id from matched m ${ordered(order, 'm')} limit ${take}::bigint) as ids,
  (select count(*)::integer from matched) as total,
  (select created_at from stopped) as "lastAt",
  (select id from stopped) as "lastId"`

// Looks at payments in order of time. Own values: those that fit in another way than by the text, the cursor, and the number
// of ids.

const MOST_LOOKED_AT = '2000'

const HAS_TEXT = `(${FITS_TEXT} or p.id = any (${own(0)}::uuid[]))`

interface Looked {
  /** The relation `fitting`, of which each row f has payments that may fit. */
  fitting: string
  isOf: string
  columns: string
  /** The ids of the relation `looked`, or only those that fit, as far as its columns tell. */
  ids: string
}

const looking =
  ({ fitting, isOf, columns, ids }: Looked) =>
  (order: Order) =>
    sql<Searched>`${fitting},
looked as materialized (
  select ${columns}
  from fitting f
  cross join lateral (
    select ${columns}
    from payments p
    where p.merchant_id = $1
      and ${isOf}
      and ${isInside(order, 'p', [own(1), own(2)])}
    ${ordered(order, 'p')}
    limit ${MOST_LOOKED_AT}
  ) p
  ${ordered(order, 'p')}
  limit ${MOST_LOOKED_AT}
),
${matched(order, ids, `${FITS} and ${HAS_TEXT}`, MOST_LOOKED_AT, own(3))}`

const bothOrders = (statementOf: (order: Order) => Statement<Searched>) => ({
  desc: statementOf('desc'),
  asc: statementOf('asc'),
})

const AMONG_ALL = bothOrders(
  looking({
    fitting: 'with fitting as (select distinct unnest($4::text[]) as kind)',
    isOf: 'p.kind = f.kind',
    columns: 'p.created_at, p.id, p.reference, p.customer_email',
    ids: `select p.id from looked p where ${HAS_TEXT}`,
  }),
)

// The index has no other columns. Of dozens of combinations, most of the rows that are read come too late.
const AMONG_FILTERED = bothOrders(
  looking({
    fitting: FITTING_TUPLES,
    isOf: HAS_TUPLE,
    columns: 'p.created_at, p.id',
    ids: 'select id from looked',
  }),
)

// Finds payments by the indexes. Own values: the part of the text with rare trigrams, the n-grams, the receipt code, the
// cursor, and the number of ids.

/** Of them a page is filtered and sorted. */
const MOST_FOUND = '500'
/** Each is an index entry and a comparison. A text with more matches counts as frequent. */
const MOST_REFERENCES = '20000'
const MOST_CUSTOMERS = '1000'
const MOST_OF_CUSTOMERS = '5000'

const hasReference = `r.merchant_id = $1 and r.reference ilike ${own(0)} and (r.reference ilike $11) is true`

/** Forces the n-gram index over names and e-mails: another index would read all customers of the merchant. */
const hasEmail = `search_ngrams(c.merchant_id, c.search_text) @@ ${own(1)}::tsquery and (c.merchant_id = $1 and c.email_key like $11) is true`

/** Otherwise the search ends there. */
const FEW_CUSTOMERS = `(select count(*) <= ${MOST_CUSTOMERS} from customers_found)`

const finding = (order: Order) => {
  const position = [own(5), own(6)] as const
  const newestOf = (relation: string) =>
    `(select n.id, n.created_at from ${relation} n where ${isInside(order, 'n', position)} ${ordered(order, 'n')} limit ${MOST_FOUND})`
  return sql<Searched & { isTooMany: boolean }>`
with customers_found as materialized (
  select c.id
  from searched_customers c
  where ${hasEmail}
  limit ${MOST_CUSTOMERS} + 1
),
by_reference as materialized (
  select r.payment_id as id, r.created_at
  from searched_references r
  where ${FEW_CUSTOMERS} and ${hasReference}
  limit ${MOST_REFERENCES} + 1
),
by_email as materialized (
  select p.id, p.created_at
  from customers_found c
  cross join lateral (
    select p.id, p.created_at
    from payments p
    where p.merchant_id = $1
      and p.customer_id = c.id
      and ${isInside(order, 'p', position)}
    ${ordered(order, 'p')}
    limit ${MOST_FOUND}
  ) p
  where ${FEW_CUSTOMERS}
  limit ${MOST_OF_CUSTOMERS} + 1
),
names as (${foundByProvider('$18')}
  union${foundByReceipt([own(2), own(3), own(4)])}
),
by_name as materialized (
  select p.id, p.created_at
  from payments p
  where p.merchant_id = $1 and p.id = any (array(select id from names))
),
found as (
  ${newestOf('by_reference')}
  union
  ${newestOf('by_email')}
  union
  ${newestOf('by_name')}
),
looked as materialized (${newestOf('found')}),
${matched(order, 'select id from looked', `${FITS} and ${HAS_SEARCH_VALUES}`, MOST_FOUND, own(7))},
  not ${FEW_CUSTOMERS}
  or (select count(*) from by_reference) > ${MOST_REFERENCES}
  or (select count(*) from by_email) > ${MOST_OF_CUSTOMERS} as "isTooMany"`
}

const FOUND = { desc: finding('desc'), asc: finding('asc') }

// The payments that fit and have the text as a whole reference, receipt code or reference at the provider. Own values: the
// receipt code.
const selectExact = sql<{ id: string }>`
with names as (
  select r.payment_id as id
  from payment_references r
  where r.merchant_id = $1 and r.reference = any ($18::text[])
  union${foundByProvider('$18')}
  union${foundByReceipt([own(0), own(1), own(2)])}
)
select p.id
from payments p
where p.merchant_id = $1
  and p.id = any (array(select id from names))
  and p.created_at >= $2::timestamptz
  and p.created_at <= $3::timestamptz
  and ${FITS}
  and ${HAS_SEARCH_VALUES}
limit ${MOST_FOUND}`

/** More payments of a customer would take long to filter. */
const MOST_OF_CUSTOMER = '10000'

const selectCustomer = sql<{ id: string }>`
select c.id
from customers c
where c.merchant_id = $1
  and c.email_key = $2
  and not exists (
    select
    from payments p
    where p.merchant_id = $1 and p.customer_id = c.id
    offset ${MOST_OF_CUSTOMER}
  )`

/** A text in the forms that the statements compare. */
export interface SearchText {
  text: string
  /** The bounds and the end of the ids, or nulls. */
  receipt: readonly (string | null)[]
}

const NONE: Searched = { ids: [], total: 0, lastAt: null, lastId: null }

/** The values of a list's filter, from $4 on. */
type FilterValues = readonly unknown[]

export async function findExact(
  db: Db,
  merchantId: string,
  window: ListWindow,
  values: FilterValues,
  { receipt }: SearchText,
): Promise<string[]> {
  const rows = await db.query(selectExact, [...periodValues(merchantId, window), ...values, ...receipt])
  return rows.map(({ id }) => id)
}

/** The customer with this whole e-mail, unless there are too many payments of it to filter. */
export async function findCustomerOf(db: Db, merchantId: string, text: string): Promise<string | null> {
  return (await firstRow(db, selectCustomer, [merchantId, text]))?.id ?? null
}

export const MOST_OF_CALLERS = '500'

const selectOfCustomers = sql<{ id: string }>`
select p.id
from unnest($2::uuid[]) as c (id)
cross join lateral (
  select p.id, p.created_at
  from payments p
  where p.merchant_id = $1 and p.customer_id = c.id
  order by p.created_at desc, p.id desc
  limit ${MOST_OF_CALLERS}
) p
order by p.created_at desc, p.id desc
limit ${MOST_OF_CALLERS}`

/** The newest payments of these customers. */
export async function findOfCustomers(
  db: Db,
  merchantId: string,
  customerIds: readonly string[],
): Promise<string[]> {
  if (customerIds.length === 0) return []
  return (await db.query(selectOfCustomers, [merchantId, customerIds])).map(({ id }) => id)
}

const take = ({ limit, offset }: ListWindow) => limit + offset + 1

/** Undefined: too many payments match. */
export async function findText(
  db: Db,
  merchantId: string,
  window: ListWindow,
  values: FilterValues,
  { selective, text, receipt }: SearchText & { selective: string },
): Promise<Searched | undefined> {
  const [found] = await db.query(FOUND[window.order], [
    ...[...periodValues(merchantId, window), ...values],
    ...[selective, searchQueryOf(merchantId, text), ...receipt],
    ...[...keysetPosition(window), take(window)],
  ])
  return found?.isTooMany ? undefined : (found ?? NONE)
}

/** Compares the newest payments with the text; `exact` fit as well. */
export async function lookForText(
  db: Db,
  merchantId: string,
  window: ListWindow,
  values: FilterValues,
  exact: readonly string[],
): Promise<Searched> {
  // By a column of the combinations, which stand between the kinds and the text. Other filters leave every combination.
  const isFiltered = values.slice(1, 7).some((value) => value !== null)
  const [looked] = await db.query((isFiltered ? AMONG_FILTERED : AMONG_ALL)[window.order], [
    ...[...periodValues(merchantId, window), ...values, exact],
    ...[...keysetPosition(window), take(window)],
  ])
  return looked ?? NONE
}
