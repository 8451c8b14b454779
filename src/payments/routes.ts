import { Type } from 'typebox'
import { chargeSavedMethod } from '../charges/charge.ts'
import { initiatePayment } from '../checkout/initiate.ts'
import { Refusal, refusalOf } from '../core/errors.ts'
import { REPLAYED } from '../kit/idempotency.ts'
import { created, ok, type Route, route } from '../kit/route.ts'
import { UuidInput, UuidParams } from '../kit/schema.ts'
import { requireCharge, requirePayment, verifyPayment } from '../outcomes/verify.ts'
import type { PaymentsApp } from './app.ts'
import {
  CHARGE_BODY_EXAMPLE,
  CHARGE_EXAMPLE,
  INITIATE_BODY_EXAMPLE,
  INITIATED_EXAMPLE,
  PAYMENT_EXAMPLE,
} from './examples.ts'
import {
  chargeComplaints,
  InitiateBody,
  initiateComplaints,
  RecurringChargeBody,
  toChargeInput,
  toInitiateInput,
} from './input.ts'
import { listRoutes } from './list-routes.ts'
import { ChargeRecord, InitiatedPayment, PaymentRecord } from './schema.ts'
import { showCharge, showInitiated, showPayment } from './views.ts'

export function paymentRoutes(app: PaymentsApp): Route[] {
  return [...checkoutRoutes(app), ...chargeRoutes(app), ...listRoutes(app)]
}

function checkoutRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/checkout/initiate-payment',
      tag: 'Checkout',
      scope: 'checkout:write',
      summary: 'Initiate a payment',
      description:
        'Opens a checkout on the gateway that serves the currency and country. Send the customer to checkoutUrl. The same reference with the same body answers the same record, with Idempotent-Replayed: true.',
      body: InitiateBody,
      complaints: initiateComplaints(app.settings.mode === 'test'),
      answer: { http: 201, data: InitiatedPayment },
      refusals: [
        'invalid_currency',
        'country_required',
        'invalid_country',
        'amount_out_of_range',
        'amount_precision',
        'duplicate_reference',
        'no_route_available',
        'customer_blocked',
        'card_data_not_allowed',
      ],
      examples: { body: INITIATE_BODY_EXAMPLE, data: INITIATED_EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const input = toInitiateInput(body)
        const { payment, replayed } = await initiatePayment(app, merchant, input, idempotencyKey ?? null)
        return created('Payment initiated.', showInitiated(app, payment), replayed ? REPLAYED : undefined)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/checkout/verify-payment',
      tag: 'Checkout',
      scope: 'checkout:read',
      summary: 'Verify a payment',
      description:
        'Asks the gateway when the payment is not final, at most once per three seconds. Answers what is stored when the gateway cannot be reached.',
      query: Type.Object({
        reference: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
        uuid: Type.Optional(UuidInput),
      }),
      answer: { http: 200, data: PaymentRecord },
      refusals: ['missing_reference', 'invalid_uuid', 'payment_not_found'],
      examples: { data: PAYMENT_EXAMPLE },
      handle: async ({ merchant, query }) => {
        const name = nameOf(query.reference, query.uuid)
        return ok('Payment verified.', await showPayment(app, await verifyPayment(app, merchant, name)))
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/checkout/payments/{uuid}',
      tag: 'Checkout',
      scope: 'checkout:read',
      summary: 'Get a payment as it is stored',
      params: UuidParams,
      answer: { http: 200, data: PaymentRecord },
      refusals: ['invalid_uuid', 'payment_not_found'],
      examples: { data: PAYMENT_EXAMPLE },
      handle: async ({ merchant, params }) => {
        const payment = await requirePayment(app, merchant, { uuid: params.uuid })
        if (payment.kind !== 'checkout') throw new Refusal('payment_not_found')
        return ok('Payment retrieved.', await showPayment(app, payment))
      },
    }),
  ]
}

function chargeRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/charges/recurring',
      tag: 'Charges',
      scope: 'charges:write',
      summary: 'Charge a saved payment method again',
      description:
        'A decline is an answer: 201 with status failed and its failure. An outcome that is not known yet is 201 with status processing; it is resolved by asking the gateway, never by charging again.',
      body: RecurringChargeBody,
      complaints: chargeComplaints,
      answer: { http: 201, data: ChargeRecord },
      refusals: [
        'invalid_currency',
        'amount_out_of_range',
        'amount_precision',
        'recurring_token_not_found',
        'duplicate_reference',
        'recurring_token_inactive',
        'customer_mismatch',
        'customer_blocked',
        'currency_not_supported_for_token',
        'card_data_not_allowed',
      ],
      examples: { body: CHARGE_BODY_EXAMPLE, data: CHARGE_EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const input = toChargeInput(body)
        const { payment, replayed, method } = await chargeSavedMethod(
          app,
          merchant,
          input,
          idempotencyKey ?? null,
        )
        return created(
          messageOf(payment.status),
          await showCharge(app, payment, method),
          replayed ? REPLAYED : undefined,
        )
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/charges/{uuid}',
      tag: 'Charges',
      scope: 'charges:write',
      summary: 'Get a charge as it is stored',
      params: UuidParams,
      answer: { http: 200, data: ChargeRecord },
      refusals: ['invalid_uuid', 'charge_not_found'],
      examples: { data: CHARGE_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Charge retrieved.', await showCharge(app, await requireCharge(app, merchant, params.uuid))),
    }),
  ]
}

function nameOf(reference: string | undefined, uuid: string | undefined) {
  if (uuid !== undefined) return { uuid }
  if (reference !== undefined) return { reference }
  const message = 'Name the payment by reference or by uuid.'
  throw refusalOf([{ field: 'reference', code: 'missing_reference', message }])
}

function messageOf(status: string): string {
  if (status === 'successful') return 'Charge successful.'
  return status === 'failed' ? 'Charge failed.' : 'Charge is processing.'
}
