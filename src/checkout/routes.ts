import { Type } from 'typebox'
import { ApiError, errorFromIssues } from '../core/errors.ts'
import { created, ok, type Route, route } from '../kit/http/route.ts'
import { described, UuidInput, UuidParams } from '../kit/http/schema.ts'
import { checkStatus } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { INITIATE_BODY_EXAMPLE, INITIATED_EXAMPLE, PAYMENT_EXAMPLE } from '../payments/examples.ts'
import { requireWholePayment, type WholePayment } from '../payments/find.ts'
import { requireSamePayment } from '../payments/input.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { InitiatedPayment, PaymentRecord } from '../payments/schema.ts'
import { isOpen, isUnpaid } from '../payments/states.ts'
import { serializeInitiated, serializePayment, serializeRead } from '../payments/views.ts'
import { cancelPayment } from './cancel.ts'
import { initiatePayment } from './initiate.ts'
import { InitiateBody, initiateIssues, toInitiateInput } from './input.ts'

export function checkoutRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/checkout/initiate-payment',
      audited: false,
      tag: 'Checkout',
      scope: 'checkout:write',
      operationId: 'payments.initiate',
      summary: 'Initiate a payment',
      description:
        'Opens a checkout on the gateway that serves the currency and country. Send the customer to checkoutUrl. The same reference with the same body returns the same record, with Idempotent-Replayed: true: also the open checkout of a customer who has cancelled and comes back. A payment that has ended unpaid stays ended, and the message says so: a new try takes a new reference.',
      body: InitiateBody,
      issues: initiateIssues(app.settings.mode === 'test'),
      response: { http: 201, data: InitiatedPayment },
      errors: [
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
        const recorded = await initiatePayment(app, merchant, input, idempotencyKey ?? null)
        const { payment, replayed, accessCode } = recorded
        return created(messageOf(payment, replayed), serializeInitiated(app, payment, accessCode), replayed)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/checkout/verify-payment',
      tag: 'Checkout',
      scope: 'checkout:read',
      operationId: 'payments.verify',
      summary: 'Verify a payment',
      description:
        'Call it when the customer comes back to your redirectUrl, and before you deliver. Checks the status at the gateway if the payment is not final, at most once every three seconds. Returns the stored record if the gateway cannot be reached.',
      query: Type.Object({
        reference: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 100,
            description:
              'Your reference of the payment or charge, or `uuid`. If both are given, they must name the same payment.',
          }),
        ),
        uuid: Type.Optional(described(UuidInput, 'The uuid of the payment or charge.')),
      }),
      response: { http: 200, data: PaymentRecord },
      errors: ['missing_reference', 'invalid_uuid', 'payment_not_found'],
      examples: { data: PAYMENT_EXAMPLE },
      handle: async ({ merchant, query }) => {
        const { reference, uuid } = query
        const whole = await requireWholePayment(app, merchant, identifierOf(reference, uuid))
        requireSamePayment(whole.payment, reference, ['uuid', 'reference'])
        return ok('Payment verified.', await verifiedRecord(app, whole))
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/checkout/payments/{uuid}',
      tag: 'Checkout',
      scope: 'checkout:read',
      operationId: 'payments.get',
      summary: 'Get a payment as it is stored',
      description:
        'Reads our record without asking the gateway, so it is fast and never waits. Use verify-payment where the current state at the gateway matters, such as before you deliver.',
      params: UuidParams,
      response: { http: 200, data: PaymentRecord },
      errors: ['invalid_uuid', 'payment_not_found'],
      examples: { data: PAYMENT_EXAMPLE },
      handle: async ({ merchant, params }) => {
        const whole = await requireWholePayment(app, merchant, { uuid: params.uuid })
        if (whole.payment.kind !== 'checkout') throw new ApiError('payment_not_found')
        return ok('Payment retrieved.', serializeRead(app, whole))
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/checkout/payments/{uuid}/cancel',
      audited: false,
      tag: 'Checkout',
      scope: 'checkout:write',
      operationId: 'payments.cancel',
      summary: 'Cancel a payment',
      description:
        'Ends an open checkout: the payment is abandoned and the customer can no longer pay. An open attempt is stopped at the gateway first; where the gateway cannot stop it and the customer pays anyway, the payment becomes successful. While the outcome of an attempt is unknown, nothing is cancelled. A repeat returns the record.',
      params: UuidParams,
      response: { http: 200, data: PaymentRecord },
      errors: ['invalid_uuid', 'payment_not_found', 'invalid_state'],
      handle: async ({ merchant, params, idempotencyKey }) => {
        const { record, replayed } = await cancelPayment(app, merchant, params.uuid, idempotencyKey)
        return ok('Payment cancelled.', await serializePayment(app, record), replayed)
      },
    }),
  ]
}

/** The stored payment if it is final or the gateway does not answer. */
async function verifiedRecord(app: PaymentsApp, whole: WholePayment) {
  if (!isUnpaid(whole.payment.status)) return serializeRead(app, whole)
  return serializePayment(app, await checkStatus(app, whole.payment, 'verify'))
}

function messageOf({ status }: PaymentRow, replayed: boolean): string {
  if (!replayed || isOpen(status) || !isUnpaid(status)) return 'Payment initiated.'
  return `The payment with this reference has ended unpaid: it is ${status}. A new try takes a new reference.`
}

function identifierOf(reference: string | undefined, uuid: string | undefined) {
  if (uuid !== undefined) return { uuid }
  if (reference !== undefined) return { reference }
  const message = 'Name the payment by reference or by uuid.'
  throw errorFromIssues([{ field: 'reference', code: 'missing_reference', message }])
}
