// The audit log for merchants and operators: lists, exports and the verification of the chains.

import { errorFromIssues } from '../core/errors.ts'
import { suggestName } from '../core/text/spelling.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
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
  return paginate(app.cursors, scope, query, (window) =>
    merchantId === null
      ? listAllEntryRows(app.db, filter, window)
      : listEntryRows(app.db, merchantId, filter, window),
  )
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
  return writeEntries(app.db, merchantId, query)
}

async function* writeEntries(db: Db, merchantId: string | null, query: AuditFilter): AsyncGenerator<string> {
  yield AUDIT_CSV_HEAD
  for await (const rows of readEntries(db, merchantId, query))
    yield rows.map((row) => toAuditCsv(toAuditRecord(row))).join('')
}

const READ_AT_ONCE = 500

async function* readEntries(
  db: Db,
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
    const found =
      merchantId === null
        ? await readAllEntryRows(db, filter, window)
        : await readEntryRows(db, merchantId, filter, window)
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
  const verification = await verifyChains(app.db, merchantId)
  return { intact: verification.violations === 0, ...verification }
}
