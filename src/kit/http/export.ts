// Every list with pages is also a CSV file, at the address of the list with /export: the same filters, from the oldest row
// on, any number of rows. The columns follow from the schema of the list's records. The file is written page by page, so
// its size does not matter for the memory, and no database connection is held between two pages.

import { type TProperties, type TSchema, Type } from 'typebox'
import { ApiError } from '../../core/errors.ts'
import type { Clock } from '../clock.ts'
import { createTurnQueue, mapInTurns } from '../event-loop.ts'
import { createLocalTime } from '../time-zone.ts'
import { BYTE_ORDER_MARK, csvLine, trustedCell, untrustedCell } from './csv.ts'
import { fileOf, type OperationId, type Route, type RouteInput, type RouteResponse } from './route.ts'

interface Needs {
  clock: Clock
  timeZoneOf(merchantId: string): Promise<string>
}

// To read a page of this size keeps the event loop for some milliseconds.
const ROWS_PER_PAGE = 100
// Each export reads the database as fast as its client reads the file.
const MAX_PARALLEL_EXPORTS = 2

/** Secrets, which do not belong into a file that is passed on, and pictures. */
const LEFT_OUT: ReadonlySet<string> = new Set(['accessCode', 'checkoutUrl', 'recurringToken', 'qr', 'logo'])

const PAGING: readonly string[] = ['page', 'limit', 'cursor', 'sort']

/** The routes, with an export of each list that has none yet, and with the limit of parallel exports. */
export function withExports(routes: readonly Route[], needs: Needs): Route[] {
  const paths = new Set(routes.map(({ path }) => path))
  const turn = createTurnQueue()
  const running: Running = new Map()
  const exports = routes
    .filter(({ path, response, query }) => response.list && isPaged(query) && !paths.has(`${path}/export`))
    .map((list) => exportRoute(list, { ...needs, turn }))
  return [...routes, ...exports].map((one) => (one.response.file ? limitParallel(one, running) : one))
}

/** How many exports of each merchant run in this process. */
type Running = Map<string, number>

/** Refuses an export over the limit before any work for it. */
function limitParallel(route: Route, running: Running): Route {
  return {
    ...route,
    handle: async (input) => {
      const release = occupy(running, input.merchant.id)
      try {
        const response = await route.handle(input)
        if (!response.file) throw new Error(`${route.path} does not return a file`)
        const { name, pieces } = response.file
        return fileOf(name, releasedAtEnd(pieces, release), response.headers)
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

const propertiesOf = (schema: TSchema | undefined): TProperties =>
  // A boundary: typebox does not say in its base type that an object has properties.
  (schema as { properties?: TProperties } | undefined)?.properties ?? {}

const isPaged = (query: TSchema | undefined) => 'cursor' in propertiesOf(query)

interface ExportNeeds extends Needs {
  /** Other requests run between two pages. */
  turn: () => Promise<void>
}

type Input = Omit<RouteInput<undefined, undefined, undefined>, 'query'> & {
  query: Record<string, unknown> | undefined
}

function exportRoute(list: Route, needs: ExportNeeds): Route {
  const columns = columnsOf(list.response.data)
  const filters = Object.entries(propertiesOf(list.query)).filter(([name]) => !PAGING.includes(name))
  const name = fileNameOf(list.path)
  return {
    ...list,
    path: `${list.path}/export`,
    operationId: exportIdOf(list.operationId),
    summary: `${list.summary.replace(/^List/, 'Export')} as CSV`,
    description:
      'The rows of the list with the same filters, oldest first, as CSV (RFC 4180, UTF-8). Times are in your time zone. At most two files at a time.',
    query: Type.Object({ ...Object.fromEntries(filters) }),
    response: { http: 200, data: Type.String(), file: 'text/csv', isArchived: list.response.isArchived },
    // The header alone: the list has an example of a row.
    examples: { data: headerOf(columns) },
    handle: (input) => writeFile(list, columns, name, needs, input as Input),
  }
}

/** payments.list becomes payments.export, customers.listPayments becomes customers.exportPayments. */
function exportIdOf(listId: OperationId): OperationId {
  const [resource, verb = ''] = listId.split('.')
  return `${resource}.${verb.replace(/^list/, 'export')}`
}

function fileNameOf(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== 'api' && part !== 'v1')
  return `${parts.filter((part) => !part.startsWith('{')).join('-')}.csv`
}

async function writeFile(
  list: Route,
  columns: readonly Column[],
  name: string,
  needs: ExportNeeds,
  input: Input,
): Promise<RouteResponse> {
  const merchantId = input.merchant.id
  const localTime = createLocalTime(await needs.timeZoneOf(merchantId))
  const createdTo = input.query?.createdTo ?? needs.clock.now().toISOString()
  const readPage = async (cursor?: string) => {
    const query = {
      ...input.query,
      ...{ createdTo, sort: 'createdAt:asc', page: 1, limit: ROWS_PER_PAGE, withoutTotal: true },
      ...(cursor !== undefined && { cursor }),
    }
    // A boundary: the handler takes the query that its own schema describes.
    return list.handle({ ...input, query } as never)
  }
  // The first page is read before the file begins, so that an error is still an error response.
  const first = await readPage()
  const write = async function* (): AsyncGenerator<string> {
    yield BYTE_ORDER_MARK + headerOf(columns)
    for (let page = first; ; page = await readPage(page.meta?.nextCursor ?? '')) {
      // A boundary: the data of a list is an array of records.
      const lines = await mapInTurns(page.data as unknown[], (record) => lineOf(columns, record, localTime))
      yield lines.join('')
      if (!page.meta?.nextCursor) return
      await needs.turn()
    }
  }
  const archivedBefore = first.meta?.archivedBefore
  return fileOf(
    name,
    write(),
    archivedBefore === undefined ? undefined : { 'Archived-Before': archivedBefore },
  )
}

function occupy(running: Running, merchantId: string): () => void {
  const others = running.get(merchantId) ?? 0
  if (others >= MAX_PARALLEL_EXPORTS) {
    const message = `${MAX_PARALLEL_EXPORTS} files of this merchant are being written; wait for one to end.`
    throw new ApiError('rate_limited', { message, retryAfterSeconds: 5 })
  }
  running.set(merchantId, others + 1)
  let isReleased = false
  return () => {
    if (isReleased) return
    isReleased = true
    const left = (running.get(merchantId) ?? 1) - 1
    if (left > 0) running.set(merchantId, left)
    else running.delete(merchantId)
  }
}

/** A generator that was never started does not run its finally block, so the iterator releases. */
function releasedAtEnd(pieces: AsyncIterable<string>, release: () => void): AsyncIterable<string> {
  const iterator = pieces[Symbol.asyncIterator]()
  const next = async () => {
    try {
      const result = await iterator.next()
      if (result.done) release()
      return result
    } catch (error) {
      release()
      throw error
    }
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        release()
        return iterator.return?.() ?? { done: true, value: undefined }
      },
    }),
  }
}

interface Column {
  path: readonly string[]
  kind: 'text' | 'number' | 'time' | 'json'
}

/** The columns of a record: nested objects become several columns, such as customer.email; lists become JSON. */
function columnsOf(schema: TSchema, path: readonly string[] = []): Column[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, child]) => {
    if (LEFT_OUT.has(name)) return []
    const plain = withoutNull(child)
    const below = [...path, name]
    if (Object.keys(propertiesOf(plain)).length > 0) return columnsOf(plain, below)
    return [{ path: below, kind: kindOf(plain) }]
  })
}

interface Described {
  anyOf?: TSchema[]
  type?: string
  format?: string
  pattern?: string
}

function withoutNull(schema: TSchema): TSchema {
  const { anyOf } = schema as Described
  return anyOf?.find((branch) => (branch as Described).type !== 'null') ?? schema
}

function kindOf(schema: TSchema): Column['kind'] {
  const { type, format, pattern } = schema as Described
  if (type === 'object' || type === 'array') return 'json'
  if (format === 'date-time') return 'time'
  const isAmount = pattern !== undefined && /^\^-?\??\\d\+\\\.\\d\{2\}\$$/.test(pattern)
  return type === 'integer' || type === 'number' || type === 'boolean' || isAmount ? 'number' : 'text'
}

const headerOf = (columns: readonly Column[]) => csvLine(columns.map(({ path }) => path.join('.')))

function lineOf(columns: readonly Column[], record: unknown, localTime: (time: string) => string): string {
  return csvLine(columns.map((column) => cellOf(column, valueAt(record, column.path), localTime)))
}

function valueAt(record: unknown, path: readonly string[]): unknown {
  let value = record
  for (const name of path)
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return value
}

function cellOf({ kind }: Column, value: unknown, localTime: (time: string) => string): string {
  if (value === null || value === undefined) return trustedCell('')
  switch (kind) {
    case 'number':
      return trustedCell(String(value))
    case 'time':
      return trustedCell(localTime(String(value)))
    case 'json':
      return untrustedCell(JSON.stringify(value))
    case 'text':
      return untrustedCell(typeof value === 'string' ? value : JSON.stringify(value))
  }
}
