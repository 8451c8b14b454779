// The endpoints of cases under /api/v1: those that the merchant decides.

import type { CaseDetails } from '../cases/case.ts'
import { listCases, requireCase } from '../cases/find.ts'
import { CaseRecord, toCaseRecord } from '../cases/schema.ts'
import type { KeyClaim } from '../kit/db/idempotency.ts'
import { listed, ok, type Route, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { CASE_EXAMPLE, RESOLVE_BODY_EXAMPLE } from './examples.ts'
import { type Actor, merchantActor, resolutionsFor } from './request.ts'
import { resolveCase } from './resolve.ts'
import { CasesQuery, messageOf, RESOLVE_ERRORS, ResolveBody } from './schema.ts'

const PATH = '/api/v1/cases'
const COMMON = { tag: 'Charges' } as const
export function caseRoutes(app: PaymentsApp): Route[] {
  return [...readRoutes(app), resolveRoute(app)]
}

function readRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      ...COMMON,
      method: 'GET',
      path: PATH,
      scope: 'cases:read',
      operationId: 'cases.list',
      summary: 'List the cases that need your decision',
      description:
        'A case is opened where a payment or refund cannot end by itself: another amount arrived, or a refund failed after its success. Each is also reported by the event payment.needs_review. Open ones by default, newest first.',
      query: CasesQuery,
      response: { http: 200, data: CaseRecord, list: true },
      errors: ['validation_failed', 'invalid_uuid'],
      examples: { data: [CASE_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { cases, meta } = await listCases(app, merchant, query)
        return listed(
          'Cases retrieved.',
          cases.map((one) => serialize({ merchant, by: '' }, one)),
          meta,
        )
      },
    }),
    route({
      ...COMMON,
      method: 'GET',
      path: `${PATH}/{uuid}`,
      scope: 'cases:read',
      operationId: 'cases.get',
      summary: 'Get a case',
      description:
        'A case that the operator decides (owner: operator) can be read but not resolved; its resolutions are empty.',
      params: UuidParams,
      response: { http: 200, data: CaseRecord },
      errors: ['invalid_uuid', 'case_not_found'],
      examples: { data: CASE_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Case retrieved.', serialize({ merchant, by: '' }, await requireCase(app, merchant, params.uuid))),
    }),
  ]
}

function resolveRoute(app: PaymentsApp): Route {
  return route({
    ...COMMON,
    method: 'POST',
    path: `${PATH}/{uuid}/resolve`,
    scope: 'cases:write',
    operationId: 'cases.resolve',
    summary: 'Resolve a case',
    description:
      'Decides what happens with the payment or refund. The field resolutions of the case lists what is possible. The same resolution and proof again return the record, with Idempotent-Replayed: true. After another resolution the response is 409 case_resolved, which names the one that stands. Where your settings (caseApprovals) require a second person, the first call proposes the resolution (state awaiting_approval), and the same resolution and proof with an API key of another person approve it: one that the operator has created, and that was not created or rotated with the first key.',
    params: UuidParams,
    body: ResolveBody,
    response: { http: 200, data: CaseRecord },
    errors: [...RESOLVE_ERRORS],
    examples: { body: RESOLVE_BODY_EXAMPLE },
    handle: async ({ merchant, principal, params, body, idempotencyKey: key }) => {
      const actor = merchantActor(merchant, principal)
      const { resolution, note, proof = null } = body
      const input = { resolution, note, proof, id: params.uuid }
      const claim: KeyClaim = {
        merchantId: merchant.id,
        key,
        operation: `POST ${PATH}/{uuid}/resolve`,
        input,
      }
      const request = { resolution, note, proof }
      const { details, replayed } = await resolveCase(app, actor, params.uuid, request, claim)
      return ok(messageOf(details.row), serialize(actor, details), replayed)
    },
  })
}

/** The record with the resolutions that the merchant may choose. */
function serialize(actor: Actor, details: CaseDetails) {
  return { ...toCaseRecord(details), resolutions: resolutionsFor(actor, details) }
}
