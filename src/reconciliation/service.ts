// Parses uploaded settlement files, and reads and changes reconciliations and breaks: for operators those of all accounts, for
// a merchant those of its own accounts.

import { ApiError, requireFound } from '../core/errors.ts'
import { parseAccountName } from '../core/gateway-accounts/name.ts'
import { paginate } from '../kit/db/pagination.ts'
import { requireMerchant } from '../merchants/service.ts'
import {
  assignBreakRow,
  type BreakFilter,
  type BreakWriter,
  closeBreakRow,
  findBreak,
  listBreakRows,
} from './break-queries.ts'
import { type Format, readSettlementFile } from './formats.ts'
import { findReconciliation, listReconciliationRows } from './queries.ts'
import type { ParsedFile, ReconciliationApp } from './reconcile.ts'
import type { BreakRow, ReconciliationRow } from './reconciliation.ts'

/** The merchant whose own accounts are meant; null for operators, who see every account. */
type Viewer = string | null

export interface UploadedFile {
  gateway: string
  merchant?: string
  format?: Format
  fileName?: string
  content: string
  coversFrom?: string
  coversTo?: string
}

/** Parses and validates the uploaded file. A validation error names the invalid lines. */
export async function parseUploadedFile(app: ReconciliationApp, uploaded: UploadedFile): Promise<ParsedFile> {
  if (!parseAccountName(app.gatewayNames, uploaded.gateway)) throw new ApiError('gateway_not_found')
  if (uploaded.merchant !== undefined) await requireMerchant(app, uploaded.merchant)
  const period = periodOf(uploaded)
  const bytes = Buffer.from(uploaded.content, 'base64')
  const format = uploaded.format ?? 'neutral'
  const file = readSettlementFile(format, decode(bytes))
  if ('issues' in file) {
    throw new ApiError('validation_failed', {
      message: 'The file cannot be read; details names its lines.',
      details: file.issues.map(({ line, message }) => ({
        field: 'content',
        code: 'invalid_format',
        message: `Line ${line}: ${message}`,
      })),
    })
  }
  const account = { gateway: uploaded.gateway, merchantId: uploaded.merchant ?? null }
  return { account, format, fileName: uploaded.fileName ?? null, bytes, ...file, period }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw invalidFieldError('content', 'The file is not in UTF-8.', cause)
  }
}

function periodOf({ coversFrom, coversTo }: UploadedFile): ParsedFile['period'] {
  if (coversFrom === undefined && coversTo === undefined) return null
  if (coversFrom === undefined || coversTo === undefined) {
    throw invalidFieldError(
      coversFrom === undefined ? 'coversFrom' : 'coversTo',
      'A period has a beginning and an end.',
    )
  }
  const period = { from: new Date(coversFrom), to: new Date(coversTo) }
  if (period.from >= period.to) throw invalidFieldError('coversTo', 'A period ends after it begins.')
  return period
}

function invalidFieldError(field: string, message: string, cause?: unknown): ApiError {
  const details = [{ field, code: 'invalid_format', message }]
  return new ApiError('validation_failed', { message, details, cause })
}

export async function requireReconciliation(
  app: ReconciliationApp,
  viewer: Viewer,
  id: string,
): Promise<ReconciliationRow> {
  return requireFound(await findReconciliation(app.instanceDb, viewer, id), 'reconciliation_not_found')
}

interface PageQuery {
  page?: number
  limit?: number
  cursor?: string
}

export async function listReconciliations(
  app: ReconciliationApp,
  viewer: Viewer,
  query: PageQuery & { gateway?: string },
) {
  const { gateway = null } = query
  return paginate(
    app.cursors,
    `reconciliations:${viewer ?? ''}:${gateway ?? ''}`,
    { ...query, sort: 'createdAt:desc' },
    (window) => listReconciliationRows(app.instanceDb, viewer, gateway, window),
  )
}

type BreaksQuery = PageQuery & {
  state?: 'open' | 'closed' | 'all'
  gateway?: string
  kind?: string
  reconciliation?: string
}

/** Only open ones, unless the query says otherwise. */
export async function listBreaks(app: ReconciliationApp, viewer: Viewer, query: BreaksQuery) {
  const { state = 'open', gateway = null, kind = null, reconciliation = null } = query
  const filter: BreakFilter = {
    ...{ gateway, kind, reconciliationId: reconciliation },
    state: state === 'all' ? null : state,
  }
  const scope = `reconciliation-breaks:${viewer ?? ''}:${JSON.stringify(filter)}`
  return paginate(app.cursors, scope, { ...query, sort: 'createdAt:asc' }, async (window) => {
    const { rows, counted } = await listBreakRows(app.instanceDb, viewer, filter, window)
    return { rows: rows.map((row) => ({ ...row, createdAt: row.openedAt })), counted }
  })
}

export async function requireBreak(app: ReconciliationApp, viewer: Viewer, id: string): Promise<BreakRow> {
  return requireBreakRow(await findBreak(app.instanceDb, viewer, id))
}

const writerOf = (viewer: Viewer): BreakWriter => (viewer === null ? 'operator' : 'merchant')

export async function assignBreak(
  app: ReconciliationApp,
  viewer: Viewer,
  id: string,
  { owner, note = null }: { owner: string; note?: string | null },
): Promise<BreakRow> {
  const assigned = { owner, note, by: writerOf(viewer) }
  return requireBreakRow(await assignBreakRow(app.instanceDb, viewer, id, assigned))
}

/** Idempotent: a break that is already closed, also by a file, is returned unchanged. */
export async function closeBreak(
  app: ReconciliationApp,
  viewer: Viewer,
  id: string,
  note: string,
): Promise<BreakRow> {
  const closing = { note, closedBy: writerOf(viewer), at: app.clock.now() }
  return (await closeBreakRow(app.instanceDb, viewer, id, closing)) ?? (await requireBreak(app, viewer, id))
}

function requireBreakRow(row: BreakRow | undefined): BreakRow {
  return requireFound(row, 'reconciliation_break_not_found')
}
