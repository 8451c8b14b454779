// A search without an index of its own: the newest rows of the list are compared, a bounded number of them. The page says that
// there may be more, and its cursor continues where the search stopped. Values are those of list-statements.ts.

import { type Statement, sql, type Tx } from '../db.ts'
import { type ListSource, periodValues } from '../list-statements.ts'
import { type CountedRows, keysetPosition, type ListWindow } from '../pagination.ts'

type Order = ListWindow['order']

interface SearchSource
  extends Required<Pick<ListSource, 'columns' | 'table' | 'alias' | 'filterValues'>>,
    Pick<ListSource, 'filter'> {
  /** Whether a row fits, over `alias`. Rows that `filter` leaves out are not looked at. */
  fits: string
  /** How many rows one page looks at. */
  most: number
}

type FoundRow<Row> = { total: number; lastAt: Date | null; lastId: string | null } & (Row | { id: null })

export type BoundedSearch<Row> = Readonly<Record<Order, Statement<FoundRow<Row>>>>

export function boundedSearch<Row>(source: SearchSource): BoundedSearch<Row> {
  return { desc: searchStatement<Row>(source, 'desc'), asc: searchStatement<Row>(source, 'asc') }
}

function searchStatement<Row>(source: SearchSource, order: Order): Statement<FoundRow<Row>> {
  const { columns, table, alias, filterValues, filter, fits, most } = source
  const parameter = (index: number) => `$${4 + filterValues + index}`
  const [time, id] = [parameter(0), parameter(1)]
  const [operator, direction] = order === 'desc' ? ['<', ' desc'] : ['>', '']
  const ordered = (of: string) => `order by ${of}.created_at${direction}, ${of}.id${direction}`
  // The last one that was looked at, if there may be more.
  const last = (column: string) =>
    `(select l.${column} from looked l ${ordered('l')} offset ${String(most - 1)} limit 1)`
  return sql<FoundRow<Row>>`
with looked as materialized (
  select ${alias}.created_at, ${alias}.id, ${fits} as fits
  from ${table} ${alias}
  where ${alias}.merchant_id = $1
    and ${alias}.created_at >= $2::timestamptz
    and ${alias}.created_at <= $3::timestamptz
    and ${alias}.created_at ${operator}= ${time}::timestamptz
    and (${alias}.created_at, ${alias}.id) ${operator} (${time}::timestamptz, ${id}::uuid)${filter ? ` and ${filter}` : ''}
  ${ordered(alias)}
  limit ${String(most)}
),
page as materialized (
  select l.created_at, l.id
  from looked l
  where l.fits
  ${ordered('l')}
  limit ${parameter(2)}
  offset ${parameter(3)}
)
select
  (select count(*)::integer from looked where fits) as total,
  ${last('created_at')} as "lastAt",
  ${last('id')} as "lastId",
  ${columns}
from (select 1) as one
left join page on true
left join ${table} ${alias} on ${alias}.merchant_id = $1 and ${alias}.created_at = page.created_at and ${alias}.id = page.id
${ordered(alias)}`
}

/** The page, and how many of the rows fit that the first page has looked at. */
export async function searchBounded<Row extends { id: string }>(
  db: Tx,
  search: BoundedSearch<Row>,
  merchantId: string,
  window: ListWindow,
  values: readonly unknown[],
): Promise<CountedRows<Row>> {
  const look = (own: ListWindow) =>
    db.query(search[own.order], [
      ...[...periodValues(merchantId, own), ...values],
      ...[...keysetPosition(own), own.limit + 1, own.offset],
    ])
  const rows = await look(window)
  const isFirst = window.after === null || window.withoutTotal
  const [first] = isFirst ? rows : await look({ ...window, after: null })
  const { lastAt: at = null, lastId: id = null } = rows[0] ?? {}
  return {
    rows: rows.filter(isFound),
    counted: first?.total ?? 0,
    isPartial: (first?.lastId ?? null) !== null,
    ...(at && id && { lookedTo: { at, id } }),
  }
}

/** A page without rows still has one that says how far the search has looked. */
function isFound<Row extends { id: string }>(row: FoundRow<Row>): row is FoundRow<Row> & Row {
  return row.id !== null
}
