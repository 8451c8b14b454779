// The data of merchants may be in several databases, the cells; each merchant has its rows in one of them. Which cell a
// statement goes to follows from its context: a request runs in the cell of its merchant, a background job in the cell from
// which it claims, and a page in the cell that its address names (values.ts). Cell 0 is the database of the
// instance. With one cell there is no context, and nothing here is used.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { ConnectedDb, Db, ScopableDb, Statement } from '../db/db.ts'

const cellContext = new AsyncLocalStorage<number>()

export interface Cells {
  /** In ascending order. Cell 0 alone: everything is in one database. */
  readonly numbers: readonly number[]
  nameOf(cell: number): string
  /** The cell of the merchant. */
  of(merchantId: string): Promise<number>
  /** Whether the cell could be opened since the start. */
  isOpen(cell: number): boolean
  /** The database of a cell. Throws DbUnavailable until it is migrated. */
  open(cell: number): ConnectedDb
}

/** Everything is in one database. */
export const ONE_CELL: Omit<Cells, 'open'> = {
  numbers: [0],
  nameOf: () => 'main',
  of: async () => 0,
  isOpen: () => true,
}

type Numbers = Pick<Cells, 'numbers'>
/** Where merchants are. */
export type CellMap = Pick<Cells, 'numbers' | 'of'>

export const areSeveral = ({ numbers }: Numbers = ONE_CELL) => numbers.length > 1

/** Runs the work with this cell as its context, also for its later asynchronous steps. */
export function runInCell<Result>(cell: number, work: () => Result): Result {
  return cellContext.run(cell, work)
}

/** The cell of the context; undefined outside of any, and where there is one cell only. */
export function currentCell(): number | undefined {
  return cellContext.getStore()
}

/** Runs the work in the cell that a value names. A cell that does not exist is cell 0, where nothing is found. */
export function inNamedCell<Result>(
  { numbers }: Numbers = ONE_CELL,
  cell: number,
  work: () => Result,
): Result {
  if (numbers.length === 1) return work()
  return runInCell(numbers.includes(cell) ? cell : 0, work)
}

/** Runs the work in the cell of the merchant. */
export async function inCellOf<Result>(
  cells: CellMap = ONE_CELL,
  merchantId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!areSeveral(cells)) return work()
  return runInCell(await cells.of(merchantId), work)
}

/** Runs the work once in each cell, for what operators read. The results are in the order of the cells. */
export function inEveryCell<Result>(
  { numbers }: Numbers = ONE_CELL,
  work: (cell: number) => Promise<Result>,
): Promise<Result[]> {
  if (numbers.length === 1) return Promise.all([work(0)])
  return Promise.all(numbers.map((cell) => runInCell(cell, () => work(cell))))
}

/** Loads one value for each merchant, in their order, with one call in each of their cells. */
export async function loadByCell<Value>(
  cells: CellMap = ONE_CELL,
  merchantIds: readonly string[],
  load: (merchantIds: readonly string[]) => Promise<readonly Value[]>,
): Promise<readonly Value[]> {
  if (!areSeveral(cells)) return load(merchantIds)
  const byCell = await groupByCell(cells, merchantIds, (id) => id)
  const loaded = new Map<string, Value>()
  for (const [cell, ids] of byCell)
    for (const [index, value] of (await runInCell(cell, () => load(ids))).entries())
      loaded.set(ids[index] ?? '', value)
  // A boundary: load promises one value for each.
  return merchantIds.map((id) => loaded.get(id) as Value)
}

export async function groupByCell<Item>(
  cells: CellMap = ONE_CELL,
  items: readonly Item[],
  merchantOf: (item: Item) => string,
): Promise<Map<number, Item[]>> {
  if (!areSeveral(cells)) return new Map([[0, [...items]]])
  const placed = await Promise.all(
    items.map(async (item) => ({ item, cell: await cells.of(merchantOf(item)) })),
  )
  const groups = Map.groupBy(placed, ({ cell }) => cell)
  return new Map([...groups].map(([cell, group]) => [cell, group.map(({ item }) => item)]))
}

/** A writer that batches has one queue for each cell: no statement has rows of two. */
export function perCell<Item, Result>(
  { numbers }: Numbers,
  create: () => (item: Item) => Promise<Result>,
): (item: Item) => Promise<Result> {
  if (numbers.length === 1) return create()
  const writers = new Map(numbers.map((cell) => [cell, create()]))
  return async (item) => {
    const write = writers.get(cellContext.getStore() ?? Number.NaN)
    if (!write) throw new Error('a batched write ran outside of a cell')
    return write(item)
  }
}

/** For parts of a response that are produced after the work that began them has ended. */
export function iterateInCell<Piece>(
  cell: number | undefined,
  pieces: AsyncIterable<Piece>,
): AsyncIterable<Piece> {
  if (cell === undefined) return pieces
  return {
    [Symbol.asyncIterator]() {
      const iterator = runInCell(cell, () => pieces[Symbol.asyncIterator]())
      return {
        next: () => runInCell(cell, () => iterator.next()),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/** A handle whose statements go to the cell of their context. Outside of any they fail: a guess could write money twice. */
export function routedDb(cells: Pick<Cells, 'open'>): ScopableDb {
  const requireCell = (what: string): ConnectedDb => {
    const cell = cellContext.getStore()
    if (cell === undefined) throw new Error(`a statement ran outside of a cell:\n${what}`)
    return cells.open(cell)
  }
  const routed = (scope: (db: ConnectedDb) => Db): Db => ({
    query: async <Row>(statement: Statement<Row>, values?: readonly unknown[]) =>
      scope(requireCell(statement.text)).query(statement, values),
    script: async (text) => scope(requireCell(text)).script(text),
    transaction: async (work, options) =>
      scope(requireCell(`a transaction${callerOf(new Error())}`)).transaction(work, options),
    close: () => Promise.resolve(),
  })
  return {
    ...routed((db) => db),
    forMerchant: (merchantId, audit) => routed((db) => db.forMerchant(merchantId, audit)),
    audited: (audit) => routed((db) => db.audited(audit)),
  }
}

const callerOf = ({ stack = '' }: Error) => stack.slice(stack.indexOf('\n'))
