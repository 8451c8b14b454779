// The audit log for merchants and operators: lists, exports and the verification of the chains.

import { createHash } from 'node:crypto'
import { errorFromIssues } from '../core/errors.ts'
import { suggestName } from '../core/text/spelling.ts'
import { areSeveral, askEveryCell, type CellHistory, inEveryCell } from '../kit/cells/cells.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { listOverDatabases, mergeRows } from '../kit/db/lists/operator-list.ts'
import { type ListQuery, type ListWindow, type Page, paginate } from '../kit/db/pagination.ts'
import { AUDIT_CSV_HEAD, toAuditCsv } from './csv.ts'
import type { EntryRow } from './entry.ts'
import {
  type EntryFilter,
  listAllEntryRows,
  listEntryRows,
  readAllEntryRows,
  readEntryRows,
  type Verification,
  verifyChains,
} from './queries.ts'
import { type AuditFilter, OPERATION_MESSAGE, toAuditRecord } from './schema.ts'

export interface AuditApp {
  db: Db
  cells?: CellHistory
  cursors: Signer
  /** Method and path of every operation that leaves entries. */
  auditedOperations(): readonly string[]
}

/** A mistyped operation would look like one that was never called. */
function requireKnownOperation(app: AuditApp, { operation }: AuditFilter): void {
  if (operation === undefined) return
  const known = app.auditedOperations()
  if (known.includes(operation)) return
  const sentences = [`operation ${OPERATION_MESSAGE}`, ...suggestName(operation, known)]
  throw errorFromIssues([{ field: 'operation', code: 'not_allowed', message: sentences.join(' ') }])
}

export interface AuditReader {
  /** Null: the entries of all merchants and of the operators. */
  merchantId: string | null
  /** Operators see what the databases that answer have. A merchant would take its log for complete. */
  isOperator: boolean
}

export async function listEntries(
  app: AuditApp,
  { merchantId, isOperator }: AuditReader,
  query: AuditFilter & ListQuery,
): Promise<Page<EntryRow>> {
  requireKnownOperation(app, query)
  const filter = filterOf(query)
  const scope = `audit:${merchantId}:${JSON.stringify(filter)}`
  const { db, cells } = app
  const read = (window: ListWindow) =>
    merchantId === null ? listAllEntryRows(db, filter, window) : listEntryRows(db, merchantId, filter, window)
  return paginate(app.cursors, scope, query, async (window) => {
    if (!cells || !areSeveral(cells)) return read(window)
    const some = await cellsWithEntries(cells, merchantId)
    return listOverDatabases(cells, window, async (part) =>
      isOperator
        ? askEveryCell(cells, () => read(part), some)
        : { results: await inEveryCell(cells, () => read(part), some), unavailable: [] },
    )
  })
}

/**
 * An entry is written in the database of its change and stays there, so the entries of a merchant are in the instance, in its
 * cell and in those where it was, each with a chain of its own.
 */
async function cellsWithEntries(cells: CellHistory, merchantId: string | null): Promise<readonly number[]> {
  const { numbers, successorsOf } = cells
  if (merchantId === null) return numbers
  const own = await cells.of(merchantId)
  return numbers.filter((cell) => cell === 0 || cell === own || successorsOf(cell).includes(own))
}

async function inEveryDatabase<Result>(
  { cells }: Pick<AuditApp, 'cells'>,
  merchantId: string | null,
  read: () => Promise<Result>,
): Promise<Result[]> {
  return inEveryCell(cells, read, cells && (await cellsWithEntries(cells, merchantId)))
}

function filterOf(query: AuditFilter): EntryFilter {
  const { object, actor, operation, objectType, requestId, address } = query
  return {
    object: object ?? null,
    actor: actor ?? null,
    operation: operation ?? null,
    objectType: objectType ?? null,
    requestId: requestId ?? null,
    address: address ?? null,
  }
}

/**
 * Streams the entries from the oldest on as CSV, of any number. The first ones of every cell are read before the file begins, so
 * that an error, such as of a cell that does not answer, is still an error response.
 */
export async function exportEntries(
  app: AuditApp,
  merchantId: string | null,
  query: AuditFilter,
): Promise<AsyncGenerator<string>> {
  requireKnownOperation(app, query)
  const read = readEntries(app, merchantId, query)
  return writeEntries(await read.next(), read)
}

async function* writeEntries(
  first: IteratorResult<EntryRow[]>,
  others: AsyncIterable<EntryRow[]>,
): AsyncGenerator<string> {
  const write = (rows: readonly EntryRow[]) => rows.map((row) => toAuditCsv(toAuditRecord(row))).join('')
  yield AUDIT_CSV_HEAD
  if (!first.done) yield write(first.value)
  for await (const rows of others) yield write(rows)
}

const READ_AT_ONCE = 500

async function* readEntries(
  app: AuditApp,
  merchantId: string | null,
  query: AuditFilter,
): AsyncGenerator<EntryRow[]> {
  const dateOf = (text: string | undefined) => (text === undefined ? null : new Date(text))
  const filter = filterOf(query)
  const window: ListWindow = {
    ...{ order: 'asc', after: null, page: 1, limit: READ_AT_ONCE, offset: 0 },
    createdFrom: dateOf(query.createdFrom),
    createdTo: dateOf(query.createdTo),
  }
  for (;;) {
    const parts = await inEveryDatabase(app, merchantId, () =>
      merchantId === null
        ? readAllEntryRows(app.db, filter, window)
        : readEntryRows(app.db, merchantId, filter, window),
    )
    const found = mergeRows(parts, 'asc')
    const rows = found.slice(0, READ_AT_ONCE)
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || found.length <= READ_AT_ONCE) return
    window.after = { at: last.createdAt, id: last.id }
  }
}

export async function verifyAudit(
  app: AuditApp,
  merchantId: string | null,
): Promise<Verification & { intact: boolean }> {
  const found = await inEveryDatabase(app, merchantId, () => verifyChains(app.db, merchantId))
  const verification = found.reduce(addVerifications)
  return { intact: verification.violations === 0, ...verification }
}

function addVerifications(one: Verification, other: Verification): Verification {
  return {
    chains: one.chains + other.chains,
    entries: one.entries + other.entries,
    violations: one.violations + other.violations,
    firstViolations: [...one.firstViolations, ...other.firstViolations],
    digest: createHash('sha256').update(`${one.digest}${other.digest}`).digest('hex'),
  }
}
