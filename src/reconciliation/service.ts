// Parses uploaded settlement files, and reads and changes reconciliations and breaks for operators.

import { ApiError, requireFound } from '../core/errors.ts'
import { parseAccountName } from '../core/gateway-accounts/name.ts'
import { paginate } from '../kit/db/pagination.ts'
import { requireMerchant } from '../merchants/service.ts'
import { assignBreakRow, type BreakFilter, closeBreakRow, findBreak, listBreakRows } from './break-queries.ts'
import { type Format, readSettlementFile } from './formats.ts'
import { findReconciliation, listReconciliationRows } from './queries.ts'
import type { ParsedFile, ReconciliationApp } from './reconcile.ts'
import type { BreakRow, ReconciliationRow } from './reconciliation.ts'

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

export async function requireReconciliation(app: ReconciliationApp, id: string): Promise<ReconciliationRow> {
  return requireFound(await findReconciliation(app.db, id), 'reconciliation_not_found')
}

interface PageQuery {
  page?: number
  limit?: number
  cursor?: string
}

export async function listReconciliations(app: ReconciliationApp, query: PageQuery & { gateway?: string }) {
  const { gateway = null } = query
  return paginate(
    app.cursors,
    `reconciliations:${gateway ?? ''}`,
    { ...query, sort: 'createdAt:desc' },
    (window) => listReconciliationRows(app.db, gateway, window),
  )
}

export async function listBreaks(app: ReconciliationApp, filter: BreakFilter, query: PageQuery) {
  const scope = `reconciliation-breaks:${JSON.stringify(filter)}`
  return paginate(app.cursors, scope, { ...query, sort: 'createdAt:asc' }, async (window) => {
    const { rows, counted } = await listBreakRows(app.db, filter, window)
    return { rows: rows.map((row) => ({ ...row, createdAt: row.openedAt })), counted }
  })
}

export async function requireBreak(app: ReconciliationApp, id: string): Promise<BreakRow> {
  return requireBreakRow(await findBreak(app.db, id))
}

export async function assignBreak(
  app: ReconciliationApp,
  id: string,
  owner: string,
  note: string | null,
): Promise<BreakRow> {
  return requireBreakRow(await assignBreakRow(app.db, id, owner, note))
}

/** Idempotent: a break that is already closed, also by a file, is returned unchanged. */
export async function closeBreak(app: ReconciliationApp, id: string, note: string): Promise<BreakRow> {
  return (await closeBreakRow(app.db, id, note, app.clock.now())) ?? (await requireBreak(app, id))
}

function requireBreakRow(row: BreakRow | undefined): BreakRow {
  return requireFound(row, 'reconciliation_break_not_found')
}
