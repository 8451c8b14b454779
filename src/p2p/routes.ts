// The routes of P2P payments, under /api/v1/p2p/payments.

import { initiateIssues } from '../checkout/input.ts'
import { assertNoCardNumbers } from '../core/card-number.ts'
import { type Issue, newIssue } from '../core/errors.ts'
import {
  type BodyFacts,
  created,
  listed,
  ok,
  type Route,
  type RouteResponse,
  route,
} from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'

import type { P2pApp } from './app.ts'
import { P2P_BODY_EXAMPLE, P2P_EXAMPLE, REJECT_BODY_EXAMPLE } from './examples.ts'
import { listP2pPayments, serializeP2pPayment } from './list.ts'
import { requestTransfer } from './request-transfer.ts'
import {
  ConfirmBody,
  P2pPaymentBody,
  P2pPaymentRecord,
  P2pPaymentsQuery,
  RejectBody,
  RequestedP2pPayment,
} from './schema.ts'
import {
  cancelTransfer,
  confirmTransfer,
  markPaid,
  type P2pPayment,
  rejectTransfer,
  requireP2pPayment,
} from './transfers.ts'

const COMMON = { tag: 'P2P', scope: 'p2p:write' } as const
const PATH = '/api/v1/p2p/payments'

export function p2pRoutes(app: P2pApp): Route[] {
  return [...paymentRoutes(app), ...confirmRoutes(app), ...endRoutes(app)]
}

function paymentRoutes(app: P2pApp): Route[] {
  return [
    route({
      ...COMMON,
      method: 'POST',
      path: PATH,
      audited: false,
      operationId: 'p2pPayments.initiate',
      summary: 'Request a transfer to your own account',
      description:
        'A payment whose payer sends the money to a receiving account of yours. The response has the instructions for the payer; checkoutUrl shows them too. You confirm the amount that arrives. The money is recorded but not credited to your wallet, because you already have it. The same reference with the same body returns the same record, with Idempotent-Replayed: true.',
      body: P2pPaymentBody,
      issues: initiateIssues(app.settings.mode === 'test'),
      response: { http: 201, data: RequestedP2pPayment },
      errors: [
        'invalid_currency',
        'country_required',
        'invalid_country',
        'amount_out_of_range',
        'amount_precision',
        'duplicate_reference',
        'p2p_account_required',
        'customer_blocked',
        'card_data_not_allowed',
      ],
      examples: { body: P2P_BODY_EXAMPLE, data: P2P_EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const requested = await requestTransfer(app, merchant, body, idempotencyKey ?? null)
        return created('Transfer requested.', await serializeP2pPayment(app, requested), requested.replayed)
      },
    }),
    route({
      ...COMMON,
      scope: 'p2p:read',
      method: 'GET',
      path: PATH,
      operationId: 'p2pPayments.list',
      summary: 'List P2P payments',
      description:
        'Includes payments whose payers chose a transfer in checkout. Match money on your account to its payment by the narration.',
      query: P2pPaymentsQuery,
      response: { http: 200, data: P2pPaymentRecord, list: true },
      errors: ['validation_failed', 'invalid_currency'],
      examples: { data: [P2P_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { records, meta } = await listP2pPayments(app, merchant, query)
        return listed('P2P payments retrieved.', records, meta)
      },
    }),
    route({
      ...COMMON,
      scope: 'p2p:read',
      method: 'GET',
      path: `${PATH}/{uuid}`,
      operationId: 'p2pPayments.get',
      summary: 'Get a P2P payment',
      description:
        'The payment with its transfer: the instructions, and what has arrived by your confirmation.',
      params: UuidParams,
      response: { http: 200, data: P2pPaymentRecord },
      errors: ['invalid_uuid', 'p2p_payment_not_found'],
      examples: { data: P2P_EXAMPLE },
      handle: async ({ merchant, params }) => {
        const found = await requireP2pPayment(app, merchant, params.uuid)
        return ok('P2P payment retrieved.', await serializeP2pPayment(app, found))
      },
    }),
  ]
}

const ACTION = {
  ...COMMON,
  method: 'POST',
  params: UuidParams,
  response: { http: 200, data: P2pPaymentRecord },
} as const

function confirmRoutes(app: P2pApp): Route[] {
  return [
    route({
      ...ACTION,
      path: `${PATH}/{uuid}/mark-paid`,
      operationId: 'p2pPayments.markPaid',
      summary: 'Mark a transfer as paid',
      description:
        'The payer can do the same on the page. You then have seven days to confirm the money before the payment expires. Nothing changes while the payer is paying by another method.',
      errors: ['invalid_uuid', 'p2p_payment_not_found', 'invalid_state'],
      handle: async ({ merchant, params, idempotencyKey }) => {
        const marked = await markPaid(app, merchant, { id: params.uuid, key: idempotencyKey })
        return respond(app, 'Transfer marked as paid.', marked)
      },
    }),
    route({
      ...ACTION,
      path: `${PATH}/{uuid}/confirm`,
      operationId: 'p2pPayments.confirm',
      summary: 'Confirm the received amount',
      description:
        'receivedAmount is the total that has arrived so far. With the whole amount or more, the payment succeeds for the requested amount; you return the excess. With less, the payment stays open as underpaid (or expired, if it had expired): confirm the new total when the rest arrives, or reject. Until then the payer can neither cancel nor use another method. You can also confirm before the transfer is marked as paid, and after it has expired. A repeat with the same amount returns the record.',
      body: ConfirmBody,
      issues: receivedAmountIssues,
      errors: [
        'invalid_uuid',
        'amount_out_of_range',
        'amount_precision',
        'p2p_payment_not_found',
        'invalid_state',
      ],
      examples: { body: { receivedAmount: 5000 } },
      handle: async ({ merchant, params, body, idempotencyKey }) => {
        const action = { id: params.uuid, key: idempotencyKey }
        const confirmed = await confirmTransfer(app, merchant, action, body.receivedAmount)
        return respond(app, `Transfer ${confirmed.transfer.status}.`, confirmed)
      },
    }),
  ]
}

function endRoutes(app: P2pApp): Route[] {
  return [
    route({
      ...ACTION,
      path: `${PATH}/{uuid}/reject`,
      operationId: 'p2pPayments.reject',
      summary: 'Reject a transfer whose money, or the rest of it, did not arrive',
      description: 'The payment fails. You return the money that arrived for an underpaid transfer.',
      body: RejectBody,
      errors: ['invalid_uuid', 'p2p_payment_not_found', 'invalid_state', 'card_data_not_allowed'],
      examples: { body: REJECT_BODY_EXAMPLE },
      handle: async ({ merchant, params, body, idempotencyKey }) => {
        const reason = body.reason ?? null
        assertNoCardNumbers({ reason })
        const action = { id: params.uuid, key: idempotencyKey }
        return respond(app, 'Transfer rejected.', await rejectTransfer(app, merchant, action, reason))
      },
    }),
    route({
      ...ACTION,
      path: `${PATH}/{uuid}/cancel`,
      operationId: 'p2pPayments.cancel',
      summary: 'Cancel a transfer',
      description: 'Possible until the transfer is marked as paid. The payment fails.',
      errors: ['invalid_uuid', 'p2p_payment_not_found', 'invalid_state'],
      handle: async ({ merchant, params, idempotencyKey }) => {
        const action = { id: params.uuid, key: idempotencyKey }
        return respond(app, 'Transfer cancelled.', await cancelTransfer(app, merchant, action))
      },
    }),
  ]
}

async function respond(
  app: P2pApp,
  message: string,
  result: P2pPayment & { replayed: boolean },
): Promise<RouteResponse> {
  return ok(message, await serializeP2pPayment(app, result), result.replayed)
}

/** The number of decimals is checked later, because the payment determines the currency. */
function receivedAmountIssues(_body: Record<string, unknown>, { lossyNumbers }: BodyFacts): Issue[] {
  if (!lossyNumbers.has('receivedAmount')) return []
  const message = 'receivedAmount has more digits than a JSON number can carry exactly.'
  return [newIssue('receivedAmount', 'amount_precision', message)]
}
