// Pagination of lists: by page number while that is cheap, and by cursor to any depth. A cursor is signed for the
// merchant and the list that it was made for.

import { hash } from 'node:crypto'
import { errorFromIssues, type Issue } from '../../core/errors.ts'
import { COUNT_CAP, DEFAULT_LIMIT, type PageMeta } from '../../core/page.ts'
import type { Clock } from '../clock.ts'
import type { Signer } from '../crypto.ts'

export interface ListQuery {
  page?: number
  limit?: number
  cursor?: string
  createdFrom?: string
  createdTo?: string
  sort?: 'createdAt:desc' | 'createdAt:asc'
  /** For exports, which do not show how many rows there are. */
  withoutTotal?: boolean
}

export interface ListWindow {
  order: 'asc' | 'desc'
  after: { at: Date; id: string } | null
  page: number
  limit: number
  offset: number
  createdFrom: Date | null
  createdTo: Date | null
  /** The list counts no rows. */
  withoutTotal?: boolean
}

/** What a list reads: one row more than the page where there is one, and the count, at most one more than the cap. */
export interface CountedRows<Row> {
  rows: Row[]
  counted: number
  /** There are more rows than were counted. */
  isPartial?: boolean
  /** The list has looked no further than this row, and there may be more: the next page begins after it. */
  lookedTo?: { at: Date; id: string }
  /** Of a list over every cell: the names of those that do not answer. */
  unavailableCells?: string[]
}

export interface Page<Row> {
  rows: Row[]
  meta: PageMeta
}

interface CursorPosition {
  at: Date
  id: string
  page: number
  order: 'asc' | 'desc'
}

export function windowOf(signer: Signer, scope: string, query: ListQuery): ListWindow {
  const limit = query.limit ?? DEFAULT_LIMIT
  const order = query.sort === 'createdAt:asc' ? 'asc' : 'desc'
  const { withoutTotal = false } = query
  const common = {
    ...{ limit, withoutTotal },
    createdFrom: dateOf(query.createdFrom),
    createdTo: dateOf(query.createdTo),
  }
  if (query.cursor !== undefined) {
    const position = readCursor(signer, scope, query.cursor)
    return { ...common, order: position.order, after: position, page: position.page, offset: 0 }
  }
  const page = query.page ?? 1
  const offset = (page - 1) * limit
  if (offset > COUNT_CAP) {
    throw invalidQuery(
      'page',
      'out_of_range',
      `Pages end at row ${COUNT_CAP}; continue with cursor=meta.nextCursor.`,
    )
  }
  return { ...common, order, after: null, page, offset }
}

/** Reads the page of a list that the query asks for. The scope names the list with its filter: a cursor fits no other. */
export async function paginate<Row extends { id: string; createdAt: Date }>(
  signer: Signer,
  scope: string,
  query: ListQuery,
  read: (window: ListWindow) => Promise<CountedRows<Row>>,
): Promise<Page<Row>> {
  const window = windowOf(signer, scope, query)
  return pageOf(signer, scope, window, await read(window))
}

export function pageOf<Row extends { id: string; createdAt: Date }>(
  signer: Signer,
  scope: string,
  window: ListWindow,
  { rows, counted, isPartial = false, lookedTo, unavailableCells = [] }: CountedRows<Row>,
): Page<Row> {
  const shown = rows.slice(0, window.limit)
  const last = shown.at(-1)
  const isFull = rows.length > window.limit
  const total = Math.min(counted, COUNT_CAP)
  const end = isFull && last ? { at: last.createdAt, id: last.id } : lookedTo
  const position = end && { ...end, page: window.page + 1, order: window.order }
  return {
    rows: shown,
    meta: {
      page: window.page,
      limit: window.limit,
      total,
      totalIsCapped: counted > COUNT_CAP || isPartial,
      pageCount: Math.ceil(total / window.limit),
      hasNext: position !== undefined,
      hasPrevious: window.page > 1,
      nextCursor: position ? signCursor(signer, scope, position) : null,
      ...(unavailableCells.length > 0 && { unavailableCells }),
    },
  }
}

/** The lists that are known to exceed the cap. */
export interface CappedLists {
  has(name: string): boolean
  /** For so long; absent: for ever. */
  add(name: string, keepMs?: number): void
}

// Names of lists contain their filters: beyond this the oldest is evicted, and counted again.
const MAX_CAPPED = 10_000

export function createCappedLists(clock: Clock): CappedLists {
  const until = new Map<string, number>()
  return {
    has: (name) => (until.get(name) ?? 0) > clock.now().getTime(),
    add(name, keepMs = Number.POSITIVE_INFINITY) {
      until.delete(name)
      until.set(name, clock.now().getTime() + keepMs)
      const [oldest] = until.keys()
      if (until.size > MAX_CAPPED && oldest !== undefined) until.delete(oldest)
    },
  }
}

/**
 * Counts a list unless it is known to exceed the cap. A list that only grows is counted to the cap once per process, and
 * another one again after a while; every other page saves reading ten thousand index entries.
 */
export async function countUpToCap(
  capped: CappedLists | undefined,
  name: string,
  count: () => Promise<number>,
  keepMs?: number,
): Promise<number> {
  if (capped?.has(name)) return COUNT_CAP + 1
  const counted = await count()
  if (counted > COUNT_CAP) capped?.add(name, keepMs)
  return counted
}

function signCursor(signer: Signer, scope: string, position: CursorPosition): string {
  const { order, page, at, id } = position
  return signer.sign(JSON.stringify([digestOf(scope), order, page, at.getTime(), id]))
}

/**
 * A list is identified by its search, which may be long; the digest keeps the cursor short enough for a query string.
 */
function digestOf(scope: string): string {
  return hash('sha256', scope, 'base64url')
}

function readCursor(signer: Signer, scope: string, cursor: string): CursorPosition {
  const payload = signer.verify(cursor)
  // A boundary: the signature proves that we wrote this array.
  const parts =
    payload === undefined ? [] : (JSON.parse(payload) as [string, 'asc' | 'desc', number, number, string])
  const [signedDigest, order, page, time, id] = parts
  if (signedDigest !== digestOf(scope) || !order || !page || time === undefined || !id) {
    throw invalidQuery('cursor', 'invalid_format', 'cursor must be an unmodified nextCursor from this list.')
  }
  return { at: new Date(time), id, page, order }
}

const dateOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text))

function invalidQuery(field: string, code: string, message: string) {
  const issue: Issue = { field, code, message }
  return errorFromIssues([issue])
}

const FIRST_UUID = '00000000-0000-0000-0000-000000000000'
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Time and id after which a page begins; before every row for the first page. */
export function keysetPosition({
  order,
  after,
}: Pick<ListWindow, 'order' | 'after'>): [Date | string, string] {
  if (after) return [after.at, after.id]
  return order === 'desc' ? ['infinity', LAST_UUID] : ['-infinity', FIRST_UUID]
}

/** A LIKE pattern that finds the text anywhere, with wildcards escaped. */
export function substringPattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}
