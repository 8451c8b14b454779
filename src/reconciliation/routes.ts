// The operators' endpoints for settlement files and breaks, under /admin/v1.

import { created, listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { BREAK_EXAMPLE, PREVIEW_EXAMPLE, RECONCILE_BODY_EXAMPLE, RECONCILIATION_EXAMPLE } from './examples.ts'
import type { BreakInput } from './queries.ts'
import { previewFile, type ReconciliationApp, reconcileFile } from './reconcile.ts'
import {
  AssignBody,
  BreakRecord,
  BreaksQuery,
  CloseBody,
  PreviewRecord,
  ReconcileBody,
  ReconciliationRecord,
  ReconciliationsQuery,
  toBreak,
  toReconciliation,
} from './schema.ts'
import {
  assignBreak,
  closeBreak,
  listBreaks,
  listReconciliations,
  parseUploadedFile,
  requireBreak,
  requireReconciliation,
  type UploadedFile,
} from './service.ts'

// A file of 6 MB in base64: about 50,000 lines, the maximum of a file.
const FILE_LIMIT = 8 * 1024 * 1024
const PREVIEWED_BREAKS = 1_000

export function reconciliationRoutes(app: ReconciliationApp): OperatorRoute[] {
  return [...fileRoutes(app), ...breakRoutes(app)]
}

function fileRoutes(app: ReconciliationApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/reconciliations',
      operationId: 'reconciliations.create',
      summary: 'Reconcile a settlement file with the ledger; the same file again changes nothing',
      description:
        'Money that matches becomes available at once, and every difference becomes a break. An invalid line rejects the whole file.',
      body: ReconcileBody,
      bodyLimit: FILE_LIMIT,
      response: { http: 201, data: ReconciliationRecord },
      errors: ['validation_failed', 'gateway_not_found', 'merchant_not_found'],
      examples: { body: RECONCILE_BODY_EXAMPLE, data: RECONCILIATION_EXAMPLE },
      handle: async ({ body }) =>
        created(
          'File reconciled.',
          toReconciliation(await reconcileFile(app, await parseUploadedFile(app, body))),
        ),
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/reconciliations/preview',
      audited: false,
      operationId: 'reconciliations.preview',
      summary: 'Reconcile a settlement file without writing anything (dry run)',
      description: 'Shows what the same request without /preview would find and change.',
      body: ReconcileBody,
      bodyLimit: FILE_LIMIT,
      response: { http: 200, data: PreviewRecord },
      errors: ['validation_failed', 'gateway_not_found', 'merchant_not_found'],
      examples: { body: RECONCILE_BODY_EXAMPLE, data: PREVIEW_EXAMPLE },
      handle: async ({ body }) => ok('Nothing was changed.', await preview(app, body)),
    }),
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/reconciliations',
      operationId: 'reconciliations.list',
      summary: 'List the reconciled files, newest first',
      description: 'With the counts of each file.',
      query: ReconciliationsQuery,
      response: { http: 200, data: ReconciliationRecord, list: true },
      errors: ['validation_failed'],
      handle: async ({ query }) => {
        const { rows, meta } = await listReconciliations(app, null, query)
        return listed('Reconciliations.', rows.map(toReconciliation), meta)
      },
    }),
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/reconciliations/{uuid}',
      operationId: 'reconciliations.get',
      summary: 'Get the result of a reconciled file',
      description: 'Its counts; the breaks are listed by `reconciliation`.',
      params: UuidParams,
      response: { http: 200, data: ReconciliationRecord },
      errors: ['invalid_uuid', 'reconciliation_not_found'],
      handle: async ({ params }) =>
        ok('Reconciliation.', toReconciliation(await requireReconciliation(app, null, params.uuid))),
    }),
  ]
}

function breakRoutes(app: ReconciliationApp): OperatorRoute[] {
  const serialize = (row: Parameters<typeof toBreak>[0]) => toBreak(row, app.clock.now())
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/reconciliation-breaks',
      operationId: 'reconciliationBreaks.list',
      summary: 'List breaks between the files and the ledger, the oldest first; only open ones by default',
      description: 'A later file that agrees closes a break, or you close it with a note.',
      query: BreaksQuery,
      response: { http: 200, data: BreakRecord, list: true },
      errors: ['validation_failed', 'invalid_uuid'],
      examples: { data: BREAK_EXAMPLE },
      handle: async ({ query }) => {
        const { rows, meta } = await listBreaks(app, null, query)
        return listed('Breaks.', rows.map(serialize), meta)
      },
    }),
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/reconciliation-breaks/{uuid}',
      operationId: 'reconciliationBreaks.get',
      summary: 'Get a break',
      description: 'With what our records and the file say.',
      params: UuidParams,
      response: { http: 200, data: BreakRecord },
      errors: ['invalid_uuid', 'reconciliation_break_not_found'],
      handle: async ({ params }) => ok('Break.', serialize(await requireBreak(app, null, params.uuid))),
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/reconciliation-breaks/{uuid}/close',
      operationId: 'reconciliationBreaks.close',
      summary: 'Close a break with a note; it stays closed while both sides are unchanged',
      description: 'For a difference that is explained. Nothing is posted to the ledger.',
      params: UuidParams,
      body: CloseBody,
      response: { http: 200, data: BreakRecord },
      errors: ['validation_failed', 'invalid_uuid', 'reconciliation_break_not_found'],
      examples: { body: { note: 'A payment of another system.' } },
      handle: async ({ params, body }) =>
        ok('Break closed.', serialize(await closeBreak(app, null, params.uuid, body.note))),
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/reconciliation-breaks/{uuid}/assign',
      operationId: 'reconciliationBreaks.assign',
      summary: 'Assign a break to an owner',
      description: 'Names who works on it. A repeat replaces the owner.',
      params: UuidParams,
      body: AssignBody,
      response: { http: 200, data: BreakRecord },
      errors: ['validation_failed', 'invalid_uuid', 'reconciliation_break_not_found'],
      examples: { body: { owner: 'Wanjiru' } },
      handle: async ({ params, body }) =>
        ok('Break assigned.', serialize(await assignBreak(app, null, params.uuid, body))),
    }),
  ]
}

/** What the file would find, without a change. */
export async function preview(app: ReconciliationApp, uploaded: UploadedFile) {
  const file = await parseUploadedFile(app, uploaded)
  const { counts, breaks } = await previewFile(app, file, PREVIEWED_BREAKS)
  const breaksFound = breaks.map(serializeBreakInput)
  return { rows: file.rows.length, ignored: file.ignored, ...counts, breaksFound }
}

function serializeBreakInput(found: BreakInput) {
  return {
    kind: found.kind,
    subject: found.subject,
    line: found.line,
    merchantUuid: found.owner_merchant_id,
    paymentUuid: found.payment_id,
    refundUuid: found.refund_id,
    ours: found.ours,
    theirs: found.theirs,
  }
}
