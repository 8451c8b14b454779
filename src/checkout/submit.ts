// Sends a checkout attempt to its gateway.

import { sanitizeTexts } from '../core/sanitize-text.ts'
import type { Gateway, GatewayBehavior, NextStep, Outcome } from '../gateways/gateway.ts'
import { isLostPageUnpayable, nextPollAt } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentWithAttempt } from '../payments/attempt.ts'
import { toGatewayAttempt } from '../payments/gateway-request.ts'
import { checkoutUrl, openAccessCode } from '../payments/views.ts'
import { updateAwaitingCustomer } from './queries.ts'

/** Every submission goes through here: the first one, and the resolver's retry under the same idempotency key. */
export async function submitCheckout(
  app: PaymentsApp,
  gateway: Gateway,
  { payment, attempt }: PaymentWithAttempt,
): Promise<Outcome> {
  const accessCode = openAccessCode(app, payment)
  if (attempt.choice === null || accessCode === null)
    throw new Error(`attempt ${attempt.id} does not belong to a checkout`)
  const { name } = await app.merchantProfile(payment.merchantId)
  const started = await gateway.startCheckout(
    toGatewayAttempt(payment, attempt, name),
    attempt.choice,
    `${checkoutUrl(app, accessCode)}/return`,
  )
  if (started.kind === 'pending' && isLostPageUnpayable(gateway, attempt)) {
    return { kind: 'unknown', reason: 'no_answer', message: `${gateway.name} does not return its page again` }
  }
  if (started.kind === 'pending') {
    // The gateway has the attempt but does not return its page again: only polling can bring the outcome.
    await markAwaitingCustomer(app, { payment, attempt }, started, null, gateway.behavior)
  }
  if (started.kind !== 'started') return started
  await app.failpoints.hit('checkout.after_response')
  // The provider's texts are stored, so characters that PostgreSQL cannot store are removed.
  const { gatewayReference, next } = sanitizeTexts(started)
  const outcome: Pending = { kind: 'pending', gatewayReference }
  await markAwaitingCustomer(app, { payment, attempt }, outcome, next, gateway.behavior)
  return outcome
}

type Pending = Extract<Outcome, { kind: 'pending' }>

/** The gateway has accepted the attempt and the payer must act. `next` is null if the response with the step got lost. */
export async function markAwaitingCustomer(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  pending: Pending,
  next: NextStep | null,
  behavior: GatewayBehavior,
): Promise<void> {
  const awaiting: PaymentWithAttempt = { payment, attempt: { ...attempt, status: 'awaiting_customer' } }
  const dueAt = nextPollAt(app, awaiting, pending, behavior)
  await updateAwaitingCustomer(app.db, attempt, pending.gatewayReference, next, dueAt)
}
