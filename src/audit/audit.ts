// The audit log for merchants and operators: lists, exports and the verification of the chains.

import { createHash } from 'node:crypto'
import { errorFromIssues } from '../core/errors.ts'
import { suggestName } from '../core/text/spelling.ts'
import { areSeveral, type CellHistory, inEveryCell, runInCell } from '../kit/cells/cells.ts'
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
  instanceDb: Db
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

/** The entries of one merchant, or with null those of all merchants and of the operators. */
export async function listEntries(
  app: AuditApp,
  merchantId: string | null,
  query: AuditFilter & ListQuery,
): Promise<Page<EntryRow>> {
  requireKnownOperation(app, query)
  const filter = filterOf(query)
  const scope = `audit:${merchantId}:${JSON.stringify(filter)}`
  const read = (db: Db, window: ListWindow) =>
    merchantId === null ? listAllEntryRows(db, filter, window) : listEntryRows(db, merchantId, filter, window)
  return paginate(app.cursors, scope, query, (window) =>
    areSeveral(app.cells)
      ? listOverDatabases(window, (part) => inEveryDatabase(app, merchantId, (db) => read(db, part)))
      : read(app.db, window),
  )
}

/**
 * An entry is written in the database of its change, so the entries of a merchant are in the instance and in its cell, each
 * with a chain of its own. In cell 0 both are one.
 */
async function inEveryDatabase<Result>(
  { db, instanceDb, cells }: AuditApp,
  merchantId: string | null,
  read: (db: Db) => Promise<Result>,
): Promise<Result[]> {
  if (!cells || !areSeveral(cells)) return [await read(db)]
  // The entries of a merchant that was moved stay where they were written.
  if (merchantId === null || cells.numbers.some((cell) => cells.successorsOf(cell).length > 0))
    return inEveryCell(cells, () => read(db))
  const cell = await cells.of(merchantId)
  const own = runInCell(cell, () => read(db))
  return cell === 0 ? [await own] : Promise.all([own, read(instanceDb)])
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

/** Streams the entries from the oldest on as CSV, of any number. An error of the query is thrown before the file begins. */
export function exportEntries(
  app: AuditApp,
  merchantId: string | null,
  query: AuditFilter,
): AsyncGenerator<string> {
  requireKnownOperation(app, query)
  return writeEntries(app, merchantId, query)
}

async function* writeEntries(
  app: AuditApp,
  merchantId: string | null,
  query: AuditFilter,
): AsyncGenerator<string> {
  yield AUDIT_CSV_HEAD
  for await (const rows of readEntries(app, merchantId, query))
    yield rows.map((row) => toAuditCsv(toAuditRecord(row))).join('')
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
    const parts = await inEveryDatabase(app, merchantId, (db) =>
      merchantId === null
        ? readAllEntryRows(db, filter, window)
        : readEntryRows(db, merchantId, filter, window),
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
  const found = await inEveryDatabase(app, merchantId, (db) => verifyChains(db, merchantId))
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
