// Requests for refunds, for people alone.

import { Type } from 'typebox'
import { created, listed, ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { Enum, PAGE_QUERY, UuidInput, UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { REQUEST_STATUSES, toRequest } from './request.ts'
import {
  approveRequest,
  askForRefund,
  listRequests,
  rejectRequest,
  requireRequest,
  withdrawRequest,
} from './service.ts'

const PATH = '/app/refund-requests'
const LONGEST_TEXT = 255
const Text = Type.String({ minLength: 1, maxLength: LONGEST_TEXT, 'x-multiline': true })

export function refundRequestRoutes(app: PaymentsApp): PersonRoute[] {
  return [
    personRoute({
      method: 'POST',
      path: PATH,
      scope: 'refunds:request',
      operationId: 'refundRequests.create',
      body: Type.Object({ paymentUuid: UuidInput, amount: Type.Number(), reason: Text }),
      handle: async ({ merchant, principal, body, idempotencyKey }) => {
        const { record, replayed } = await askForRefund(app, merchant, principal, body, idempotencyKey)
        return created('The refund waits for approval.', toRequest(record), replayed)
      },
    }),
    personRoute({
      method: 'GET',
      path: PATH,
      scope: 'refunds:read',
      operationId: 'refundRequests.list',
      query: Type.Object({
        ...PAGE_QUERY,
        status: Type.Optional(Enum(REQUEST_STATUSES)),
        payment: Type.Optional(UuidInput),
        whose: Type.Optional(Enum(['own'])),
      }),
      handle: async ({ merchant, principal, query: { whose, ...query } }) => {
        const own = whose === 'own' && { requestedBy: principal.id }
        const { rows, meta } = await listRequests(app, merchant, { ...query, ...own })
        return listed('Requests for refunds.', rows.map(toRequest), meta)
      },
    }),
    personRoute({
      method: 'GET',
      path: `${PATH}/{uuid}`,
      scope: 'refunds:read',
      operationId: 'refundRequests.get',
      params: UuidParams,
      handle: async ({ merchant, params }) =>
        ok('Request for a refund.', toRequest(await requireRequest(app, merchant, params.uuid))),
    }),
    ...decisionRoutes(app),
  ]
}

const decisionRoutes = (app: PaymentsApp): PersonRoute[] => [
  personRoute({
    method: 'POST',
    path: `${PATH}/{uuid}/approve`,
    scope: 'refunds:write',
    operationId: 'refundRequests.approve',
    params: UuidParams,
    handle: async ({ merchant, principal, params }) =>
      ok('Approved.', toRequest(await approveRequest(app, merchant, principal, params.uuid))),
  }),
  personRoute({
    method: 'POST',
    path: `${PATH}/{uuid}/reject`,
    scope: 'refunds:write',
    operationId: 'refundRequests.reject',
    params: UuidParams,
    body: Type.Object({ note: Text }),
    handle: async ({ merchant, principal, params, body }) =>
      ok('Rejected.', toRequest(await rejectRequest(app, merchant, principal, params.uuid, body.note))),
  }),
  personRoute({
    method: 'POST',
    path: `${PATH}/{uuid}/withdraw`,
    scope: 'refunds:request',
    operationId: 'refundRequests.withdraw',
    params: UuidParams,
    handle: async ({ merchant, principal, params }) =>
      ok('Withdrawn.', toRequest(await withdrawRequest(app, merchant, principal, params.uuid))),
  }),
]
