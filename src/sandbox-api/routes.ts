import { Type } from 'typebox'
import { singlePage } from '../core/page.ts'
import { SANDBOX_INSTRUMENTS } from '../gateways/sandbox/index.ts'
import type { IdempotentResult } from '../kit/db/idempotency.ts'
import { listed, ok, type Route, type RouteResponse, route } from '../kit/http/route.ts'
import {
  amountText,
  CurrencyCode,
  described,
  Enum,
  namedObject,
  timestamp,
  Uuid,
} from '../kit/http/schema.ts'
import { PAYMENT_EXAMPLE } from '../payments/examples.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { PaymentRecord } from '../payments/schema.ts'
import { serializePayment } from '../payments/views.ts'
import { simulateDispute } from './dispute.ts'
import { completePayment, listExecutions, type SandboxApiApp } from './service.ts'
import { simulateOnce } from './simulate-once.ts'

const INSTRUMENT_NAMES = SANDBOX_INSTRUMENTS.map(({ name }) => name)

const REFERENCE = Type.Object({
  reference: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'Your reference of the payment or charge.',
    examples: ['order-1042'],
  }),
})

const PAYMENT_PATH = '/api/v1/sandbox/payments/{reference}'

const ExecutionRecord = namedObject(
  'SandboxExecution',
  {
    uuid: described(Uuid, 'The id of the execution at the sandbox provider.'),
    kind: Enum(['checkout', 'charge', 'refund'], { description: 'What was executed.' }),
    amount: amountText('The amount that moved.'),
    currency: CurrencyCode,
    status: Enum(['successful'], { description: 'Always successful: only money that moved is listed.' }),
    executedAt: timestamp('When the provider executed it, in UTC.'),
  },
  { description: 'A movement of money at the sandbox provider.' },
)

export function sandboxApiRoutes(app: SandboxApiApp): Route[] {
  return [
    route({
      method: 'POST',
      path: `${PAYMENT_PATH}/complete`,
      audited: false,
      tag: 'Misc',
      scope: 'checkout:write',
      operationId: 'sandbox.completePayment',
      summary: 'Complete a payment as the customer would (staging only)',
      description:
        'For automated tests: opens the checkout page, pays with a test instrument and waits for the outcome. Events and webhooks follow as for a real payment.',
      params: REFERENCE,
      body: namedObject('CompleteSandboxPaymentRequest', {
        instrument: Enum(INSTRUMENT_NAMES, {
          description: 'The test instrument, which decides what happens. /docs/instruments lists them.',
        }),
      }),
      response: { http: 200, data: PaymentRecord },
      errors: [
        'payment_not_found',
        'invalid_state',
        'customer_blocked',
        'payment_link_busy',
        'payment_link_ended',
      ],
      examples: { body: { instrument: 'card_success' }, data: PAYMENT_EXAMPLE },
      handle: async ({ merchant, params: { reference }, body, idempotencyKey: key }) => {
        const channel = SANDBOX_INSTRUMENTS.find(({ name }) => name === body.instrument)?.channel ?? 'card'
        const choice = { channel, instrument: body.instrument }
        const claim = { key, operation: `POST ${PAYMENT_PATH}/complete`, input: body }
        const simulated = await simulateOnce(app, { merchant, reference, claim }, () =>
          completePayment(app, merchant, reference, choice),
        )
        return respond(app, `Checkout simulated. The payment is ${simulated.record.status}.`, simulated)
      },
    }),
    route({
      method: 'POST',
      path: `${PAYMENT_PATH}/dispute`,
      audited: false,
      tag: 'Misc',
      scope: 'checkout:write',
      operationId: 'sandbox.disputePayment',
      summary: 'Simulate a dispute by the customer’s bank (staging only)',
      description:
        'Opens a chargeback about a payment or charge that was paid in the sandbox (`open`), and decides it: for you (`won`) or for the customer (`lost`).',
      params: REFERENCE,
      body: namedObject('DisputeSandboxPaymentRequest', {
        outcome: Enum(['open', 'won', 'lost'], {
          description: 'Open the dispute, or decide it: for you (won), or for the customer (lost).',
        }),
      }),
      response: { http: 200, data: PaymentRecord },
      errors: ['payment_not_found', 'invalid_state'],
      examples: { body: { outcome: 'open' } },
      handle: async ({ merchant, params: { reference }, body, idempotencyKey: key }) => {
        const claim = { key, operation: `POST ${PAYMENT_PATH}/dispute`, input: body }
        const simulated = await simulateOnce(app, { merchant, reference, claim }, () =>
          simulateDispute(app, merchant, reference, { action: 'dispute', outcome: body.outcome }),
        )
        return respond(app, 'Dispute simulated.', simulated)
      },
    }),
    route({
      method: 'POST',
      path: `${PAYMENT_PATH}/reverse`,
      audited: false,
      tag: 'Misc',
      scope: 'checkout:write',
      operationId: 'sandbox.reversePayment',
      summary: 'Simulate a reversal by the provider (staging only)',
      description:
        'The provider takes the money of a paid payment or charge back without a dispute: the payment becomes reversed.',
      params: REFERENCE,
      response: { http: 200, data: PaymentRecord },
      errors: ['payment_not_found', 'invalid_state'],
      handle: async ({ merchant, params: { reference }, idempotencyKey: key }) => {
        const claim = { key, operation: `POST ${PAYMENT_PATH}/reverse`, input: {} }
        const simulated = await simulateOnce(app, { merchant, reference, claim }, () =>
          simulateDispute(app, merchant, reference, { action: 'reverse', outcome: 'lost' }),
        )
        return respond(app, 'Reversal simulated.', simulated)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/sandbox/executions',
      tag: 'Misc',
      scope: 'checkout:read',
      operationId: 'sandbox.listExecutions',
      summary: 'List the executions of the sandbox provider (staging only)',
      description:
        'Every movement of money of a payment or charge at the sandbox provider. Your tests compare with it, to detect double charges.',
      query: REFERENCE,
      response: { http: 200, data: ExecutionRecord, list: true },
      errors: ['payment_not_found'],
      examples: {
        data: [
          {
            uuid: '0197a3c3-0b7e-7f3a-8c1d-5e9a7b2c4d60',
            kind: 'checkout',
            amount: '1250.50',
            currency: 'KES',
            status: 'successful',
            executedAt: '2026-03-14T09:27:31.020Z',
          },
        ],
      },
      handle: async ({ merchant, query }) => {
        const executions = await listExecutions(app, merchant, query.reference)
        return listed('Executions retrieved.', executions, singlePage(executions.length))
      },
    }),
  ]
}

async function respond(
  app: SandboxApiApp,
  message: string,
  { record, replayed }: IdempotentResult<PaymentRow>,
): Promise<RouteResponse> {
  return ok(message, await serializePayment(app, record), replayed)
}
