// The endpoints of cases under /admin/v1: operators see and resolve the cases of all merchants.

import type { CaseDetails } from '../cases/case.ts'
import { listCases, requireCase } from '../cases/find.ts'
import { toCaseRecord } from '../cases/schema.ts'
import { inEveryCell } from '../kit/cells/cells.ts'
import { listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { OPERATOR_CASE_EXAMPLE, RESOLVE_BODY_EXAMPLE } from './examples.ts'
import { isOwn } from './independence.ts'
import { findParties } from './party-queries.ts'
import { rejectProposal } from './reject.ts'
import { type Actor, expectedProposalOf, operatorActor, resolutionsFor } from './request.ts'
import { resolveCase } from './resolve.ts'
import {
  messageOf,
  OperatorCaseRecord,
  OperatorCasesQuery,
  REJECT_ERRORS,
  REJECTED_MESSAGE,
  RESOLVE_ERRORS,
  RejectBody,
  ResolveBody,
} from './schema.ts'

export function operatorCaseRoutes(app: PaymentsApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/cases',
      operationId: 'cases.list',
      summary: 'List the cases that need a decision, oldest first; only open ones by default',
      description:
        'Of all merchants. `owner` narrows them to those that the operator decides. While a cell does not answer, its cases are missing, and `meta.unavailableCells` names it.',
      query: OperatorCasesQuery,
      response: { http: 200, data: OperatorCaseRecord, list: true },
      errors: ['validation_failed'],
      examples: { data: OPERATOR_CASE_EXAMPLE },
      handle: async ({ query, operator }) => {
        const { cases, meta, answered } = await listCases(app, null, query)
        const found = await inEveryCell(app.cells, () => findParties(app.db, idsOf(cases)), answered)
        const parties = new Map(found.flatMap((ofCell) => [...ofCell]))
        return listed('Cases.', serialize(operatorActor(operator), cases, parties), meta)
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
      handle: async ({ params, operator }) =>
        respond(app, operatorActor(operator), 'Case.', {
          details: await requireCase(app, null, params.uuid),
        }),
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
      handle: async ({ params, body, operator, expected }) => {
        const expectedProposal = expectedProposalOf(expected)
        const request = { ...body, proof: body.proof ?? null, expectedProposal }
        const actor = operatorActor(operator)
        const resolved = await resolveCase(app, actor, params.uuid, request)
        return respond(app, actor, messageOf(resolved.details.row), resolved)
      },
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cases/{uuid}/reject',
      operationId: 'cases.reject',
      summary: 'Reject or withdraw a proposal',
      description:
        'Another person rejects the proposed resolution, or the operator who proposed it withdraws it. The case is open again.',
      params: UuidParams,
      body: RejectBody,
      response: { http: 200, data: OperatorCaseRecord },
      errors: [...REJECT_ERRORS],
      examples: { body: { note: 'It was paid.' } },
      handle: async ({ params, body, operator }) => {
        const actor = operatorActor(operator)
        const rejection = { note: body.note ?? null, proposedAt: body.proposedAt }
        const rejected = await rejectProposal(app, actor, params.uuid, rejection)
        return respond(app, actor, REJECTED_MESSAGE, rejected)
      },
    }),
  ]
}

async function respond(
  app: PaymentsApp,
  actor: Actor,
  message: string,
  { details, replayed }: { details: CaseDetails; replayed?: boolean },
) {
  const parties = await findParties(app.db, idsOf([details]))
  const [record] = serialize(actor, [details], parties)
  return ok(message, record, replayed)
}

const idsOf = (cases: readonly CaseDetails[]) => cases.map(({ row }) => row.id)

type Parties = Awaited<ReturnType<typeof findParties>>

/** The records with their merchants and customers, and with the resolutions that the operator may choose. */
function serialize(actor: Actor, cases: readonly CaseDetails[], parties: Parties) {
  return cases.flatMap((details) => {
    const ofCase = parties.get(details.row.id)
    if (!ofCase) return []
    const { merchantId: merchantUuid, proposal } = details.row
    const resolutions = resolutionsFor(actor, details)
    const isOwnProposal = proposal !== null && isOwn(proposal, actor)
    return [{ ...toCaseRecord(details, 'operator'), resolutions, merchantUuid, ...ofCase, isOwnProposal }]
  })
}
