// The operator's endpoints for cases, under /admin/v1.

import { Type } from 'typebox'
import { listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { Enum, Nullable, PAGE_QUERY, Timestamp, Uuid, UuidParams } from '../kit/http/schema.ts'
import type { CaseRow } from './case.ts'
import { CASE_KIND_NAMES, CASE_KINDS } from './case.ts'
import { type CasesApp, closeCase, listCases } from './cases.ts'

const CaseRecord = Type.Object({
  uuid: Uuid,
  kind: Enum(CASE_KIND_NAMES),
  meaning: Type.String(),
  merchantUuid: Uuid,
  paymentUuid: Uuid,
  attemptUuid: Uuid,
  refundUuid: Nullable(Uuid),
  state: Enum(['open', 'closed']),
  note: Nullable(Type.String()),
  openedAt: Timestamp,
  closedAt: Nullable(Timestamp),
})

const { page, limit, cursor } = PAGE_QUERY
const CasesQuery = Type.Object({
  ...{ page, limit, cursor },
  state: Type.Optional(Enum(['open', 'all'], { default: 'open' })),
})

const CloseBody = Type.Object({ note: Type.String({ minLength: 1, maxLength: 500, pattern: '\\S' }) })

export function caseRoutes(app: CasesApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/cases',
      summary: 'List the cases that need manual review, oldest first; only open ones by default',
      query: CasesQuery,
      response: { http: 200, data: CaseRecord, list: true },
      errors: ['validation_failed'],
      handle: async ({ query }) => {
        const { rows, meta } = await listCases(app, query.state ?? 'open', query)
        return listed('Cases.', rows.map(toCase), meta)
      },
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cases/{uuid}/close',
      summary: 'Close a case that was resolved; a duplicate payment counts as returned to the payer',
      params: UuidParams,
      body: CloseBody,
      response: { http: 200, data: CaseRecord },
      errors: ['validation_failed', 'invalid_uuid', 'case_not_found'],
      handle: async ({ params, body }) =>
        ok('Case closed.', toCase(await closeCase(app, params.uuid, body.note))),
    }),
  ]
}

function toCase(row: CaseRow) {
  return {
    uuid: row.id,
    kind: row.kind,
    meaning: CASE_KINDS[row.kind],
    merchantUuid: row.merchantId,
    paymentUuid: row.paymentId,
    attemptUuid: row.attemptId,
    refundUuid: row.refundId,
    state: row.closedAt === null ? 'open' : 'closed',
    note: row.note,
    openedAt: row.openedAt.toISOString(),
    closedAt: row.closedAt?.toISOString() ?? null,
  }
}
