// The endpoints of cases: under /api/v1 those that the merchant decides, under /admin/v1 all of them.

import { Type } from 'typebox'
import type { CaseDetails } from '../cases/case.ts'
import { CASE_KIND_NAMES } from '../cases/case-kinds.ts'
import { listCases, requireCase } from '../cases/find.ts'
import { CaseRecord, ResolutionName, toCaseRecord } from '../cases/schema.ts'
import type { KeyClaim } from '../kit/db/idempotency.ts'
import { listed, type OperatorRoute, ok, operatorRoute, type Route, route } from '../kit/http/route.ts'
import {
  described,
  Enum,
  NamedEnum,
  Nullable,
  namedExtension,
  namedObject,
  PAGE_QUERY,
  Uuid,
  UuidInput,
  UuidParams,
} from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { CASE_EXAMPLE, OPERATOR_CASE_EXAMPLE, RESOLVE_BODY_EXAMPLE } from './examples.ts'
import { type Actor, merchantActor, OPERATOR, operatorActor, resolutionsFor } from './request.ts'
import { type Resolved, resolveCase } from './resolve.ts'

const FILTERS = {
  state: Type.Optional(
    Enum(['open', 'resolved', 'all'], {
      default: 'open',
      description: 'Only cases in this state. open includes those that await an approval.',
    }),
  ),
  kind: Type.Optional(NamedEnum('CaseKind', CASE_KIND_NAMES, { description: 'Only cases of this kind.' })),
  payment: Type.Optional(described(UuidInput, 'Only cases of the payment or charge with this uuid.')),
}

const CasesQuery = Type.Object({ ...PAGE_QUERY, ...FILTERS })

const { page, limit, cursor } = PAGE_QUERY
const OperatorCasesQuery = Type.Object({
  ...{ page, limit, cursor, ...FILTERS },
  owner: Type.Optional(
    NamedEnum('CaseOwner', ['merchant', 'operator'], {
      description: 'Only cases that the merchant, or the operator, decides.',
    }),
  ),
})

const ResolveBody = namedObject('ResolveCaseRequest', {
  resolution: ResolutionName,
  note: Type.String({
    minLength: 1,
    maxLength: 500,
    pattern: '\\S',
    description: 'Why you decide so. It is kept with the case.',
  }),
  proof: Type.Optional(
    Nullable(
      Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
      'The provider’s own reference, where the resolution relies on its records.',
    ),
  ),
})

const OperatorCaseRecord = namedExtension(
  'OperatorCase',
  CaseRecord,
  {
    merchantUuid: described(Uuid, 'The uuid of the merchant whose payment it is.'),
  },
  { description: 'A case with its merchant.' },
)

const PATH = '/api/v1/cases'
const COMMON = { tag: 'Charges' } as const
const RESOLVE_ERRORS = [
  'validation_failed',
  'invalid_uuid',
  'case_not_found',
  'case_resolved',
  'case_awaiting_approval',
  'approver_not_independent',
  'proof_already_used',
  'resolution_not_possible',
  'refund_not_supported',
  'card_data_not_allowed',
] as const

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
          cases.map((one) => serializeFor({ merchant, by: '' }, one)),
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
        ok(
          'Case retrieved.',
          serializeFor({ merchant, by: '' }, await requireCase(app, merchant, params.uuid)),
        ),
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
      const resolved = await resolveCase(app, actor, params.uuid, { resolution, note, proof }, claim)
      return respond(actor, resolved)
    },
  })
}

/** Operators see and resolve the cases of all merchants. */
export function operatorCaseRoutes(app: PaymentsApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/cases',
      operationId: 'cases.list',
      summary: 'List the cases that need a decision, oldest first; only open ones by default',
      description: 'Of all merchants. `owner` narrows them to those that the operator decides.',
      query: OperatorCasesQuery,
      response: { http: 200, data: OperatorCaseRecord, list: true },
      errors: ['validation_failed'],
      examples: { data: OPERATOR_CASE_EXAMPLE },
      handle: async ({ query }) => {
        const { cases, meta } = await listCases(app, null, query)
        return listed(
          'Cases.',
          cases.map((one) => serializeFor(OPERATOR, one)),
          meta,
        )
      },
    }),
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/cases/{uuid}',
      operationId: 'cases.get',
      summary: 'Get a case',
      description: 'With the resolutions that the operator may choose now.',
      params: UuidParams,
      response: { http: 200, data: OperatorCaseRecord },
      errors: ['invalid_uuid', 'case_not_found'],
      handle: async ({ params }) =>
        ok('Case.', serializeFor(OPERATOR, await requireCase(app, null, params.uuid))),
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cases/{uuid}/resolve',
      operationId: 'cases.resolve',
      summary: 'Resolve a case',
      description:
        'Decides what happens with the payment or refund, for the operator. The merchant gets the event case.resolved. The same resolution and proof again return the record. The operator token decides alone; at /ops, where the settings of the merchant (caseApprovals) require a second person, another operator approves.',
      params: UuidParams,
      body: ResolveBody,
      response: { http: 200, data: OperatorCaseRecord },
      errors: [...RESOLVE_ERRORS],
      examples: { body: RESOLVE_BODY_EXAMPLE },
      handle: async ({ params, body, operator }) => {
        const request = { ...body, proof: body.proof ?? null }
        const actor = operatorActor(operator)
        return respond(actor, await resolveCase(app, actor, params.uuid, request))
      },
    }),
  ]
}

/** The record as this actor sees it: with the resolutions that it may choose, for operators with the merchant. */
function serializeFor(actor: Actor, details: CaseDetails) {
  const record = { ...toCaseRecord(details), resolutions: resolutionsFor(actor, details) }
  return actor.merchant === null ? { ...record, merchantUuid: details.row.merchantId } : record
}

function respond(actor: Actor, { details, replayed }: Resolved) {
  return ok(messageOf(details.row), serializeFor(actor, details), replayed)
}

function messageOf({ closedAt, proposal }: CaseDetails['row']): string {
  if (closedAt !== null) return 'Case resolved.'
  return proposal === null
    ? 'The gateway does not know the outcome yet; the case stays open.'
    : 'Resolution proposed; the API key of another person must send the same resolution and proof to approve it.'
}
