// The audit log for merchants and operators: lists, exports and the verification of the chains.

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
import { type AuditFilter, toAuditRecord } from './schema.ts'

export interface AuditApp {
  db: Db
  cursors: Signer
}

/** The entries of one merchant, or with null those of all merchants and of the operators. */
export async function listEntries(
  app: AuditApp,
  merchantId: string | null,
  query: AuditFilter & ListQuery,
): Promise<Page<EntryRow>> {
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

/** Streams the entries from the oldest on as CSV, of any number. */
export async function* exportEntries(
  app: AuditApp,
  merchantId: string | null,
  query: AuditFilter,
): AsyncGenerator<string> {
  yield AUDIT_CSV_HEAD
  for await (const rows of readEntries(app.db, merchantId, query))
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
