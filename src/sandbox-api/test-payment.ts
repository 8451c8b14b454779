// The test payment that a visitor of the landing page starts at the test shop. Staging only: there is no test shop in
// production.

import { createHash } from 'node:crypto'
import { initiatePayment } from '../checkout/initiate.ts'
import { isAllowedReturn } from '../checkout/return-url.ts'
import { requireCheckoutPayment } from '../checkout/view.ts'
import { ApiError } from '../core/errors.ts'
import { base62 } from '../core/ids.ts'
import type { Merchant } from '../core/merchant.ts'
import { type Money, money } from '../core/money.ts'
import type { EventRow } from '../events/event.ts'
import { listEvents } from '../events/service.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { completePayment, type SandboxApiApp } from './service.ts'

export const TEST_AMOUNT: Money = money(125_050n, 'KES')

export interface TestPayment {
  payment: PaymentRow
  /** In the order in which they were written. */
  events: readonly EventRow[]
}

// 96 bits, so that the references of two visitors do not collide, and a reference does not reveal the token.
const REFERENCE_BYTES = 12
const REFERENCE_CHARACTERS = 17

function referenceOf(token: string): string {
  const digest = createHash('sha256').update(token).digest()
  return `test-${base62(digest.subarray(0, REFERENCE_BYTES), REFERENCE_CHARACTERS)}`
}

/** The payment of this token; a repeated call returns the same payment. The checkout returns the payer to `redirectUrl`. */
export async function startTestPayment(
  app: SandboxApiApp,
  merchant: Merchant,
  { token, redirectUrl }: { token: string; redirectUrl: string },
): Promise<PaymentRow> {
  const reference = referenceOf(token)
  const profile = await app.merchantProfile(merchant.id)
  const input = {
    reference,
    amount: TEST_AMOUNT,
    description: 'A test payment',
    metadata: {},
    // A customer of its own: visitors must not be offered the saved methods of each other.
    customer: {
      firstname: 'Test',
      lastname: 'Payer',
      email: `${reference.toLowerCase()}@example.com`,
      country: null,
    },
    country: 'KE',
    // Operators may have registered origins of the test shop without ours. Then the checkout has no link back.
    redirectUrl: isAllowedReturn(profile, redirectUrl, app.settings.mode) ? redirectUrl : null,
    isRecurring: false,
  }
  return (await initiatePayment(app, merchant, input, null)).payment
}

/**
 * Pays with a test card, as its payer would. Returns the payment as it is if the sandbox cannot pay it: it is paid already,
 * or the test shop collects with other gateways only.
 */
export async function payTestPayment(
  app: SandboxApiApp,
  merchant: Merchant,
  payment: PaymentRow,
): Promise<PaymentRow> {
  try {
    const choice = { channel: 'card', instrument: 'card_success' } as const
    return await completePayment(app, merchant, payment.reference, choice)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return (await requireCheckoutPayment(app, merchant, payment.reference)).payment
  }
}

// A payment writes fewer events than this, also if it is refunded and disputed.
const MAX_EVENTS = 20

/** Throws payment_not_found if no payment was started with this token. */
export async function requireTestPayment(
  app: SandboxApiApp,
  merchant: Merchant,
  token: string,
): Promise<TestPayment> {
  const { payment } = await requireCheckoutPayment(app, merchant, referenceOf(token))
  const query = {
    resource: payment.id,
    sort: 'createdAt:asc',
    limit: MAX_EVENTS,
    withoutTotal: true,
  } as const
  return { payment, events: (await listEvents(app, merchant, query)).rows }
}
