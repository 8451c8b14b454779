import { created, listed, ok, type Route, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { REFUND_BODY_EXAMPLE, REFUND_EXAMPLE } from './examples.ts'
import { listRefunds, nameLatestRefund, requireRefund } from './find.ts'
import { refundIssues, toRefundInput } from './input.ts'
import { limitFor } from './limits/limit.ts'
import { requestRefund } from './request.ts'
import { RefundBody, RefundRecord, RefundsQuery, toRefund } from './schema.ts'
import type { RefundStatus } from './states.ts'

export function refundRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/refunds',
      tag: 'Charges',
      scope: 'refunds:write',
      operationId: 'refunds.create',
      summary: 'Refund a payment or charge',
      description:
        'Refunds the given amount, or without an amount the whole remainder. A partial refund needs your own refundReference or an Idempotency-Key header, so that a retry cannot refund twice. Refunds together never exceed the paid amount. If the gateway rejects the refund, the response is 201 with status failed, and no money moves. A refund without a final outcome is pending; its status is polled, and it is never paid twice. The whole amount is taken from your wallet, available money first, then pending; fees are not returned, so available can go below zero. Each refund has its own refund.successful event; the payment changes its state, with an event, at the first and the last one.',
      body: RefundBody,
      issues: refundIssues,
      response: { http: 201, data: RefundRecord },
      errors: [
        'missing_reference',
        'idempotency_required',
        'invalid_uuid',
        'amount_out_of_range',
        'amount_precision',
        'payment_not_found',
        'duplicate_reference',
        'invalid_state',
        'refund_exceeds_amount',
        'refund_not_supported',
        'partial_refund_not_supported',
        'card_data_not_allowed',
      ],
      examples: { body: REFUND_BODY_EXAMPLE, data: REFUND_EXAMPLE },
      handle: async ({ merchant, principal, body, idempotencyKey }) => {
        const input = toRefundInput(body)
        const { record, replayed } = await requestRefund(
          app,
          merchant,
          input,
          idempotencyKey,
          limitFor(principal),
        ).catch((error) => nameLatestRefund(app, merchant, input, error))
        return created(MESSAGES[record.status], toRefund(record), replayed)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/refunds',
      tag: 'Charges',
      scope: 'refunds:read',
      operationId: 'refunds.list',
      summary: 'List refunds',
      description:
        'Newest first, including automatic refunds of duplicate payments. With totalIsCapped, a search may have more matches.',
      query: RefundsQuery,
      response: { http: 200, data: RefundRecord, list: true },
      errors: ['validation_failed', 'invalid_uuid', 'invalid_currency'],
      examples: { data: [REFUND_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listRefunds(app, merchant, query)
        return listed('Refunds retrieved.', rows.map(toRefund), meta)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/refunds/{uuid}',
      tag: 'Charges',
      scope: 'refunds:read',
      operationId: 'refunds.get',
      summary: 'Get a refund as it is stored',
      description:
        'Reads our record without asking the gateway. A pending refund ends by itself; its event reports the outcome.',
      params: UuidParams,
      response: { http: 200, data: RefundRecord },
      errors: ['invalid_uuid', 'refund_not_found'],
      examples: { data: REFUND_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Refund retrieved.', toRefund(await requireRefund(app, merchant, params.uuid))),
    }),
  ]
}

const MESSAGES: Readonly<Record<RefundStatus, string>> = {
  pending: 'Refund is pending.',
  successful: 'Refund successful.',
  failed: 'Refund failed.',
}
