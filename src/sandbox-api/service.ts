// Support for automated tests in staging: simulates the customer, and lists what the sandbox provider executed.

import { stopAttempt } from '../checkout/payer-actions.ts'
import { startAttempt } from '../checkout/start-attempt.ts'
import { type CheckoutView, requireCheckoutPayment } from '../checkout/view.ts'
import { simulateConsent } from '../consents/consent.ts'
import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { CheckoutChoice } from '../gateways/gateway.ts'
import type { Execution, SandboxGateway } from '../gateways/sandbox/index.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOpen } from '../payments/states.ts'
import { expireCheckout } from '../resolver/expire.ts'

export interface SandboxApiApp extends PaymentsApp {
  sandbox: SandboxGateway
}

/** Simulates the customer from opening the page to the end, without the delays of the instrument. */
export async function completePayment(
  app: SandboxApiApp,
  merchant: Merchant,
  reference: string,
  choice: CheckoutChoice & { instrument: string },
): Promise<PaymentRow> {
  const current = await requireCheckoutPayment(app, merchant, reference)
  const view = isInProgress(current, choice) ? current : await readyToPay(app, current)
  const consent = choice.channel === 'card' ? await simulateConsent(app, view.payment) : null
  const { payment, attempt } = await startAttempt(app, view, { ...choice, consent })
  if (!attempt || !isOpen(payment.status)) return requireNotCancelled(payment)
  requireChannel(attempt, choice)
  const expired = choice.instrument === 'mobile_late_success' ? await expireCheckout(app, payment) : payment
  await app.sandbox.simulatePayer(attempt.gatewayKey, choice.instrument)
  return requireNotCancelled((await verifyAttempt(app, { payment: expired, attempt }, 'checkout')).payment)
}

/** A concurrent request of the merchant has ended the payment before the simulated customer paid. */
function requireNotCancelled(payment: PaymentRow): PaymentRow {
  if (payment.status !== 'abandoned') return payment
  throw new ApiError('invalid_state', {
    message: 'This payment is abandoned: it was cancelled before the customer paid, and nothing was paid.',
  })
}

/** A concurrent call may have started an attempt of another channel, which this instrument cannot pay. */
function requireChannel({ channel }: AttemptRow, choice: CheckoutChoice): void {
  if (channel === choice.channel) return
  throw new ApiError('invalid_state', {
    message: 'Another request has changed this payment meanwhile. Send the request again.',
  })
}

/** A concurrent call simulates the same channel: both use one attempt. */
function isInProgress({ payment, attempt }: CheckoutView, choice: CheckoutChoice): boolean {
  return payment.status === 'processing' && attempt?.channel === choice.channel && attempt.endedAt === null
}

async function readyToPay(app: SandboxApiApp, current: CheckoutView): Promise<CheckoutView> {
  // A simulated customer never types a PIN, so a fresh prompt can be stopped at once.
  const { view } = await stopAttempt(app, current)
  if (view.payment.status !== 'pending') {
    throw new ApiError('invalid_state', {
      message: `This payment is ${view.payment.status}; it cannot be paid.`,
    })
  }
  return view
}

export async function listExecutions(
  app: SandboxApiApp,
  merchant: Merchant,
  reference: string,
): Promise<Execution[]> {
  const payment = await requirePayment(app, merchant, { reference })
  return app.sandbox.executions(payment.id)
}
