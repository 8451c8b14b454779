// The endpoints of cases under /api/v1: those that the merchant decides.

import type { CaseDetails } from '../cases/case.ts'
import { listCases, requireCase } from '../cases/find.ts'
import { CaseRecord, toCaseRecord } from '../cases/schema.ts'
import type { KeyClaim } from '../kit/db/idempotency.ts'
import { listed, ok, type Route, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { CASE_EXAMPLE, RESOLVE_BODY_EXAMPLE } from './examples.ts'
import { rejectProposal } from './reject.ts'
import { type Actor, expectedProposalOf, merchantActor, resolutionsFor } from './request.ts'
import { resolveCase } from './resolve.ts'
import {
  CasesQuery,
  messageOf,
  REJECT_ERRORS,
  REJECTED_MESSAGE,
  RESOLVE_ERRORS,
  RejectBody,
  ResolveBody,
} from './schema.ts'

const PATH = '/api/v1/cases'
const COMMON = { tag: 'Charges' } as const
export function caseRoutes(app: PaymentsApp): Route[] {
  return [...readRoutes(app), resolveRoute(app), rejectRoute(app)]
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
        'Payments and refunds that cannot end by themselves. The event payment.needs_review reports each. Open ones by default, newest first.',
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
      description: 'A case that the operator decides (owner) can be read but not resolved.',
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
      'Decides what happens with the payment or refund; the field resolutions lists what is possible. The same resolution and proof again return the record. After another one the response is 409 case_resolved, which names the one that stands. Where your settings (caseApprovals) require a second person, the first call proposes (state awaiting_approval), and the same resolution and proof approve it with an API key of another person, which the operator has created.',
    params: UuidParams,
    body: ResolveBody,
    response: { http: 200, data: CaseRecord },
    errors: [...RESOLVE_ERRORS],
    examples: { body: RESOLVE_BODY_EXAMPLE },
    handle: async ({ merchant, principal, params, body, idempotencyKey: key, expected }) => {
      const actor = merchantActor(merchant, principal)
      const { resolution, note, proof = null, proposedAt } = body
      const input = { resolution, note, proof, id: params.uuid, ...(proposedAt && { proposedAt }) }
      const claim: KeyClaim = {
        merchantId: merchant.id,
        key,
        operation: `POST ${PATH}/{uuid}/resolve`,
        input,
      }
      const expectedProposal = expectedProposalOf(expected)
      const request = { resolution, note, proof, proposedAt, expectedProposal }
      const { details, replayed } = await resolveCase(app, actor, params.uuid, request, claim)
      return ok(messageOf(details.row), serialize(actor, details), replayed)
    },
  })
}

function rejectRoute(app: PaymentsApp): Route {
  const path = `${PATH}/{uuid}/reject` as const
  return route({
    ...COMMON,
    method: 'POST',
    path,
    scope: 'cases:write',
    operationId: 'cases.reject',
    summary: 'Reject or withdraw a proposal',
    description: 'Another person rejects the proposed resolution, or who proposed it withdraws it.',
    params: UuidParams,
    body: RejectBody,
    response: { http: 200, data: CaseRecord },
    errors: [...REJECT_ERRORS],
    examples: { body: { note: 'It was paid.' } },
    handle: async ({ merchant, principal, params, body, idempotencyKey: key }) => {
      const actor = merchantActor(merchant, principal)
      const rejection = { note: body.note ?? null, proposedAt: body.proposedAt }
      const input = { ...body, id: params.uuid }
      const claim: KeyClaim = { merchantId: merchant.id, key, operation: `POST ${path}`, input }
      const { details, replayed } = await rejectProposal(app, actor, params.uuid, rejection, claim)
      return ok(REJECTED_MESSAGE, serialize(actor, details), replayed)
    },
  })
}

/** The record with the resolutions that the merchant may choose. */
function serialize(actor: Actor, details: CaseDetails) {
  return { ...toCaseRecord(details), resolutions: resolutionsFor(actor, details) }
}
