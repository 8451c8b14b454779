// Builds the three statements of a list with keyset pagination: the page from the newest row, the page from the oldest, and
// the count up to the cap. Every list orders by time and id, is filtered by the merchant and a period, and takes its values
// in one order:
//
//   $1 merchant, $2 from, $3 to, then the filter's own values from $4 on, then the position, the limit and the offset.
//
// Bounds are always given, from -infinity to infinity: with "or is null" a prepared statement could not use an index.

import { COUNT_CAP } from '../../core/page.ts'
import { onePlan, type Statement, sql, type Tx } from './db.ts'
import { type CountedRows, keysetPosition, type ListWindow } from './pagination.ts'

export interface PageStatements<Row> {
  newest: Statement<Row>
  oldest: Statement<Row>
}

export interface ListStatements<Row> extends PageStatements<Row> {
  count: Statement<{ total: number }>
}

export interface ListSource {
  /** The select list, over `alias`. */
  columns: string
  table: string
  alias: string
  /** Conditions beside merchant and period, over `alias`; their values are $4, $5, … Absent: none. */
  filter?: string
  /** How many values the filter has. */
  filterValues?: number
  /** Common table expressions that the filter reads, beginning with the keyword `with`. */
  prelude?: string
  /**
   * Hides the period from the planner, which would otherwise read the index over time although the filter finds few rows
   * by an index of its own.
   */
  findsByFilter?: boolean
  /**
   * A relation of the prelude, named f, with one row per value of a low-cardinality filter: the page is read once for each
   * of its rows, by an index that begins with them, and merged.
   */
  perRowOf?: string
}

const CAP = String(COUNT_CAP + 1)

export function listStatements<Row>(source: ListSource): ListStatements<Row> {
  return { ...pageStatements<Row>(source), count: countStatement(source) }
}

/** For a list that counts its rows in another way. */
export function pageStatements<Row>(source: ListSource): PageStatements<Row> {
  return { newest: pageStatement<Row>(source, 'desc'), oldest: pageStatement<Row>(source, 'asc') }
}

function conditions({ alias, filter, findsByFilter }: ListSource, position?: string): string {
  const period = `${alias}.merchant_id = $1 and ${alias}.created_at >= $2::timestamptz and ${alias}.created_at <= $3::timestamptz`
  const bounds = position ? `${period} and ${position}` : period
  const scope = findsByFilter ? `${alias}.merchant_id = $1 and (${bounds}) is true` : bounds
  return filter ? `${scope} and ${filter}` : scope
}

function pageStatement<Row>(source: ListSource, order: 'asc' | 'desc'): Statement<Row> {
  const { columns, table, alias, prelude = '', filter, filterValues = 0, perRowOf } = source
  const [time, id, limit, offset] = [4, 5, 6, 7].map((n) => `$${n + filterValues}`)
  const [operator, direction] = order === 'desc' ? ['<', ' desc'] : ['>', '']
  // The time alone stands beside the pair: of several bounds the server starts its index scan at the first plain one.
  const position = `${alias}.created_at ${operator}= ${time}::timestamptz and (${alias}.created_at, ${alias}.id) ${operator} (${time}::timestamptz, ${id}::uuid)`
  const ordered = `order by ${alias}.created_at${direction}, ${alias}.id${direction}`
  const upToPage = `limit ${limit}::bigint + ${offset}::bigint`
  const lateralRows = (select: string, upTo: string) => `cross join lateral (
  select ${select}
  from ${table} ${alias}
  where ${conditions(source, position)}
  ${ordered}
  ${upTo}
) ${alias}`
  // A page of n rows has rows of at most n values, those whose own first rows come first.
  const from = perRowOf
    ? `(
select f.*
from ${perRowOf} f
${lateralRows('created_at, id', 'limit 1')}
${ordered}
${upToPage}
) f
${lateralRows('*', upToPage)}`
    : `${table} ${alias}
where ${conditions(source, position)}`
  const statement = sql<Row>`${prelude}
select ${columns}
from ${from}
${ordered}
limit ${limit ?? ''}
offset ${offset ?? ''}`
  // Each of these reads one index in its order. Which index finds the rows of any other filter may depend on its values.
  return filter === undefined || perRowOf ? onePlan(statement) : statement
}

function countStatement(source: ListSource): Statement<{ total: number }> {
  const { table, alias, prelude = '', perRowOf } = source
  // In order, so that the server reads the index: it cannot know that a value is rare, and would read the table instead.
  const rows = `select 1
  from ${table} ${alias}
  where ${conditions(source)}
  order by ${alias}.created_at, ${alias}.id
  limit ${CAP}`
  const counted = perRowOf
    ? `select 1 from ${perRowOf} f cross join lateral (${rows}) ${alias} limit ${CAP}`
    : rows
  return sql<{ total: number }>`${prelude}
select count(*)::integer as total
from (
  ${counted}
) counted`
}

/** The values of a list's statements before its filter. */
export const periodValues = (merchantId: string, { createdFrom, createdTo }: ListWindow) => [
  merchantId,
  createdFrom ?? '-infinity',
  createdTo ?? 'infinity',
]

/** Up to one row more than the page: the extra row shows that there is a next page. */
export function readPage<Row>(
  db: Tx,
  { newest, oldest }: PageStatements<Row>,
  merchantId: string,
  window: ListWindow,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return db.query(window.order === 'desc' ? newest : oldest, [
    ...periodValues(merchantId, window),
    ...values,
    ...keysetPosition(window),
    window.limit + 1,
    window.offset,
  ])
}

/** Counts at most one more than the cap, which shows the caller that there are more. */
export async function countRows<Row>(
  db: Tx,
  { count }: ListStatements<Row>,
  merchantId: string,
  window: ListWindow,
  values: readonly unknown[] = [],
): Promise<number> {
  if (window.withoutTotal) return 0
  const [row] = await db.query(count, [...periodValues(merchantId, window), ...values])
  return row?.total ?? 0
}

export async function listRows<Row>(
  db: Tx,
  statements: ListStatements<Row>,
  merchantId: string,
  window: ListWindow,
  values: readonly unknown[] = [],
): Promise<CountedRows<Row>> {
  const [rows, counted] = await Promise.all([
    readPage(db, statements, merchantId, window, values),
    countRows(db, statements, merchantId, window, values),
  ])
  return { rows, counted }
}
