// The lists of operators: over all merchants, in one order, with keyset pagination.

import { COUNT_CAP, type PageMeta } from '../../../core/page.ts'
import { areSeveral, askEveryCell, type CellAnswers, type Cells } from '../../cells/cells.ts'
import { type Statement, sql, type Tx } from '../db.ts'
import type { CountedRows, ListWindow } from '../pagination.ts'

export interface OperatorList<Row> {
  page: Statement<Row>
  count: Statement<{ total: number }>
}

interface OperatorListSource {
  columns: string
  table: string
  /** The column by which the list is ordered. */
  time: string
  order: 'asc' | 'desc'
  /** Its values are $1, $2, … */
  filter: string
  filterValues: number
}

export function operatorList<Row>(source: OperatorListSource): OperatorList<Row> {
  const { columns, table, time, order, filter, filterValues } = source
  const parameter = (n: number) => `$${filterValues + n}`
  const [at, id] = [parameter(1), parameter(2)]
  const operator = order === 'desc' ? '<' : '>'
  return {
    page: sql<Row>`
select ${columns}
from ${table}
where ${filter} and (${at}::timestamptz is null or (${time}, id) ${operator} (${at}, ${id}::uuid))
order by ${time} ${order}, id ${order}
limit ${parameter(3)}
offset ${parameter(4)}`,
    count: sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from ${table}
  where ${filter}
  limit ${String(COUNT_CAP + 1)}
) counted`,
  }
}

export async function readOperatorList<Row>(
  db: Tx,
  { page, count }: OperatorList<Row>,
  { after, limit, offset }: ListWindow,
  values: readonly unknown[] = [],
): Promise<CountedRows<Row>> {
  const [rows, [counted]] = await Promise.all([
    db.query(page, [...values, after?.at ?? null, after?.id ?? null, limit + 1, offset]),
    db.query(count, values),
  ])
  return { rows, counted: counted?.total ?? 0 }
}

interface ListedRow {
  id: string
  createdAt: Date
}

type NamedCells = Pick<Cells, 'numbers' | 'nameOf'>

/** A list over every cell that answers: the pages of all of them from the same position, merged in their order. */
export async function listOverCells<Row extends ListedRow>(
  cells: NamedCells | undefined,
  window: ListWindow,
  list: (window: ListWindow) => Promise<CountedRows<Row>>,
): Promise<CountedRows<Row>> {
  if (!cells || !areSeveral(cells)) return list(window)
  return listOverDatabases(cells, window, (part) => askEveryCell(cells, () => list(part)))
}

/** Merges the pages that each database has from the same position. */
export async function listOverDatabases<Row extends ListedRow>(
  { nameOf }: Pick<Cells, 'nameOf'>,
  window: ListWindow,
  list: (window: ListWindow) => Promise<CellAnswers<CountedRows<Row>>>,
): Promise<CountedRows<Row>> {
  const { limit, offset, order } = window
  const { results, unavailable } = await list({ ...window, limit: limit + offset, offset: 0 })
  return {
    rows: mergeRows(
      results.map(({ rows }) => rows),
      order,
    ).slice(offset, offset + limit + 1),
    counted: results.reduce((sum, { counted }) => sum + counted, 0),
    unavailableCells: unavailable.map(nameOf),
  }
}

/** The cells that have answered for this page. */
export function answeredFor({ numbers, nameOf }: NamedCells, { unavailableCells = [] }: PageMeta): number[] {
  return numbers.filter((cell) => !unavailableCells.includes(nameOf(cell)))
}

/** Like the index of a list: by time, then by id. */
export function mergeRows<Row extends ListedRow>(
  parts: readonly (readonly Row[])[],
  order: ListWindow['order'],
): Row[] {
  const sign = order === 'desc' ? -1 : 1
  const compare = (one: Row, other: Row) =>
    one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1)
  return parts.flat().toSorted((one, other) => sign * compare(one, other))
}
