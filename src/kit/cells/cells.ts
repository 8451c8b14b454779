// The data of merchants may be in several databases, the cells; each merchant has its rows in one of them. Which cell a
// statement goes to follows from its context: a request runs in the cell of its merchant, a background job in the cell from
// which it claims, and a page in the cell that its address names (values.ts). Cell 0 is the database of the
// instance. With one cell there is no context, and nothing here is used.
//
// A merchant that is moved meanwhile takes the work for it along: the old cell refuses its writes, and they are repeated in
// the new one.

import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type ConnectedDb,
  type Db,
  DbUnavailable,
  movedMerchantOf,
  type ScopableDb,
  type Statement,
} from '../db/db.ts'

interface Context {
  cell: number
  /** The work is for one merchant, and goes with it to another cell. */
  isOfMerchant: boolean
  /** Where the merchant is, if it is known which one that is. */
  place?: { find: () => Promise<number>; foundAt: number }
}

const cellContext = new AsyncLocalStorage<Context>()

export interface Cells {
  /** In ascending order, without those that were removed. */
  readonly numbers: readonly number[]
  /** Statements are routed, also if only cell 0 is left. Absent: everything is in one database. */
  readonly isRouted?: boolean
  nameOf(cell: number): string
  /** The cell of the merchant. */
  of(merchantId: string): Promise<number>
  /** Whether the cell could be opened since the start. */
  isOpen(cell: number): boolean
  /** The database of a cell. Throws DbUnavailable until it is migrated. */
  open(cell: number): ConnectedDb
  /** The cell of a merchant whose write this cell has refused, so many times before. */
  follow(merchantId: string, refusedBy: number, refusals: number): Promise<number>
  /** The cells to which merchants of this cell were moved: values that name this one may be of theirs. */
  successorsOf(cell: number): readonly number[]
}

/** Everything is in one database. */
export const ONE_CELL: Omit<Cells, 'open'> = {
  numbers: [0],
  nameOf: () => 'main',
  of: async () => 0,
  isOpen: () => true,
  follow: async () => 0,
  successorsOf: () => [],
}

type Numbers = Pick<Cells, 'numbers' | 'isRouted'>
/** Where merchants are. */
export type CellMap = Numbers & Pick<Cells, 'of'>
/** Where merchants are, and where they were. */
export type CellHistory = CellMap & Pick<Cells, 'nameOf' | 'successorsOf'>

export const areSeveral = ({ numbers, isRouted = numbers.length > 1 }: Numbers = ONE_CELL) => isRouted

/** Runs the work with this cell as its context, also for its later asynchronous steps. */
export function runInCell<Result>(cell: number, work: () => Result): Result {
  return cellContext.run({ cell, isOfMerchant: false }, work)
}

/** The cell of the context; undefined outside of any, and where there is one cell only. */
export function currentCell(): number | undefined {
  return cellContext.getStore()?.cell
}

/** Runs the work in the cell that a value names. A cell that does not exist is cell 0, where nothing is found. */
export function inNamedCell<Result>(cells: Numbers = ONE_CELL, cell: number, work: () => Result): Result {
  if (!areSeveral(cells)) return work()
  return runInCell(cells.numbers.includes(cell) ? cell : 0, work)
}

interface WorkOptions {
  /** The work changes nothing: it is repeated if the merchant was moved meanwhile, because the old copy may be incomplete. */
  isRead?: boolean
}

/** Runs the work in the cell of the merchant. */
export async function inCellOf<Result>(
  cells: CellMap = ONE_CELL,
  merchantId: string,
  work: () => Promise<Result>,
  { isRead = false }: WorkOptions = {},
): Promise<Result> {
  if (!areSeveral(cells)) return work()
  const find = () => cells.of(merchantId)
  const cell = await find()
  const context: Context = { cell, isOfMerchant: true, place: { find, foundAt: performance.now() } }
  const hasMoved = async () => isRead && (context.cell !== cell || (await find()) !== cell)
  const again = () => inCellOf(cells, merchantId, work, { isRead })
  try {
    const result = await cellContext.run(context, work)
    return (await hasMoved()) ? again() : result
  } catch (error) {
    if (await hasMoved()) return again()
    throw error
  }
}

/**
 * Runs the work in the cell of the merchant that a value belongs to. The value names the cell in which it was made; if
 * merchants have left that one, the value is looked up.
 */
export async function inCellOfValue<Result>(
  cells: CellHistory = ONE_CELL,
  named: number,
  findMerchant: () => Promise<string | undefined>,
  work: () => Promise<Result>,
): Promise<Result> {
  const successors = cells.successorsOf(named)
  if (successors.length > 0) {
    const places = [named, ...successors].filter((cell) => cells.numbers.includes(cell))
    const merchantId = await findInOne(places, findMerchant)
    if (merchantId !== undefined) return inCellOf(cells, merchantId, work)
  }
  if (!areSeveral(cells)) return work()
  return inCellForOne(cells.numbers.includes(named) ? named : 0, work)
}

/** What the first of the cells has that has it. One that does not answer may have it if no other one has. */
async function findInOne<Found>(
  places: readonly number[],
  find: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  let failure: DbUnavailable | undefined
  for (const cell of places) {
    try {
      const found = await runInCell(cell, find)
      if (found !== undefined) return found
    } catch (error) {
      if (!(error instanceof DbUnavailable)) throw error
      failure = error
    }
  }
  if (failure) throw failure
  return undefined
}

/** Runs the work in the cell, for one merchant that is not known yet: if it works in another cell, the work is repeated there. */
export function inCellForOne<Result>(cell: number, work: () => Promise<Result>): Promise<Result> {
  return cellContext.run({ cell, isOfMerchant: true }, work)
}

/** Runs the work once in each cell, or in some, for what operators read. The results are in the order of the cells. */
export function inEveryCell<Result>(
  cells: Numbers = ONE_CELL,
  work: (cell: number) => Promise<Result>,
  some = cells.numbers,
): Promise<Result[]> {
  if (!areSeveral(cells)) return Promise.all([work(0)])
  return Promise.all(some.map((cell) => runInCell(cell, () => work(cell))))
}

export interface CellAnswers<Result> {
  /** In the order of the cells. */
  results: Result[]
  /** The cells that do not answer. */
  unavailable: readonly number[]
}

/** Runs the work once in each cell, or in some. With one cell, or if none answers, it fails as its work does. */
export async function askEveryCell<Result>(
  cells: Numbers = ONE_CELL,
  work: (cell: number) => Promise<Result>,
  some = cells.numbers,
): Promise<CellAnswers<Result>> {
  if (!areSeveral(cells)) return { results: await inEveryCell(cells, work), unavailable: [] }
  const ask = (cell: number) =>
    work(cell).then(
      (result) => ({ cell, result }),
      (error: unknown) => {
        if (error instanceof DbUnavailable) return { cell, error }
        throw error
      },
    )
  const attempts = await inEveryCell(cells, ask, some)
  const results = attempts.flatMap((attempt) => ('result' in attempt ? [attempt.result] : []))
  const failed = attempts.filter((attempt) => 'error' in attempt)
  if (results.length === 0) throw failed[0]?.error
  return { results, unavailable: failed.map(({ cell }) => cell) }
}

/** Runs the work once in each cell that answers. With one cell, or if none answers, it fails as its work does. */
export async function inEveryUpCell<Result>(
  cells: Numbers = ONE_CELL,
  work: (cell: number) => Promise<Result>,
): Promise<Result[]> {
  return (await askEveryCell(cells, work)).results
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

/** Those of the rows whose merchant works in the cell: one that is moved has a copy in another cell. */
export async function keepOfCell<Row extends { merchantId: string }>(
  cells: CellMap = ONE_CELL,
  cell: number,
  rows: readonly Row[],
): Promise<Row[]> {
  return (await groupByCell(cells, rows, ({ merchantId }) => merchantId)).get(cell) ?? []
}

/** The rows of every cell, without those of copies. */
export async function readEveryCell<Row extends { merchantId: string }>(
  cells: CellMap = ONE_CELL,
  read: () => Promise<readonly Row[]>,
): Promise<Row[]> {
  return (await inEveryCell(cells, async (cell) => keepOfCell(cells, cell, await read()))).flat()
}

/** A writer that batches has one queue for each cell: no statement has rows of two. */
export function perCell<Item, Result>(
  cells: Numbers & Pick<Cells, 'follow'>,
  create: (cell: number) => (item: Item) => Promise<Result>,
): (item: Item) => Promise<Result> {
  if (!areSeveral(cells)) return create(0)
  const writers = new Map(cells.numbers.map((cell) => [cell, create(cell)]))
  const writeIn = async (cell: number, item: Item): Promise<Result> => {
    const write = writers.get(cell)
    if (!write) throw new Error(`a batched write was for the unknown cell ${cell}`)
    // The statement has rows of several merchants: it does not follow one of them.
    return runInCell(cell, () => write(item))
  }
  return async (item) => {
    const context = cellContext.getStore()
    if (!context) throw new Error('a batched write ran outside of a cell')
    return whileMoved(cells, context, (cell) => writeIn(cell, item))
  }
}

// The old copy of a merchant that was moved is kept for longer. A process that was paused may find only a part of it.
const FOUND_FOR_MS = 5_000

/** The cell of the context. That of a merchant is looked up again after a pause, such as that of a call to a gateway. */
async function cellOfContext(context: Context): Promise<number> {
  const { place } = context
  if (place && performance.now() - place.foundAt >= FOUND_FOR_MS) {
    // Without an answer the work goes on where it was: a cell that the merchant has left refuses its writes.
    context.cell = await place.find().catch(() => context.cell)
    place.foundAt = performance.now()
  }
  return context.cell
}

const MOST_FOLLOWED = 60

/** Repeats the work in the cell of the merchant each time a cell has refused it. */
async function whileMoved<Result>(
  cells: Pick<Cells, 'follow'>,
  context: Context,
  work: (cell: number) => Promise<Result>,
): Promise<Result> {
  let cell = await cellOfContext(context)
  for (let refusals = 0; ; refusals += 1) {
    try {
      return await work(cell)
    } catch (error) {
      const merchantId = movedMerchantOf(error)
      if (merchantId === undefined || refusals === MOST_FOLLOWED) throw error
      cell = await cells.follow(merchantId, cell, refusals)
      if (context.isOfMerchant) context.cell = cell
    }
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
export function routedDb(cells: Pick<Cells, 'open' | 'follow'>): ScopableDb {
  const inContext = <Result>(what: string, work: (db: ConnectedDb) => Promise<Result>): Promise<Result> => {
    const context = cellContext.getStore()
    if (!context) throw new Error(`a statement ran outside of a cell:\n${what}`)
    if (!context.isOfMerchant) return work(cells.open(context.cell))
    return whileMoved(cells, context, (cell) => work(cells.open(cell)))
  }
  const routed = (scope: (db: ConnectedDb) => Db): Db => ({
    query: async <Row>(statement: Statement<Row>, values?: readonly unknown[]) =>
      inContext(statement.text, (db) => scope(db).query(statement, values)),
    script: async (text) => inContext(text, (db) => scope(db).script(text)),
    transaction: async (work, options) =>
      inContext(`a transaction${callerOf(new Error())}`, (db) => scope(db).transaction(work, options)),
    close: () => Promise.resolve(),
  })
  return {
    ...routed((db) => db),
    forMerchant: (merchantId, audit) => routed((db) => db.forMerchant(merchantId, audit)),
    audited: (audit) => routed((db) => db.audited(audit)),
  }
}

const callerOf = ({ stack = '' }: Error) => stack.slice(stack.indexOf('\n'))
