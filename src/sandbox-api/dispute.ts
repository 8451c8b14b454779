// Simulates the payer's bank in the sandbox: opens and decides disputes, and reverses payments.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { DisputeReport } from '../gateways/gateway.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { findPaidAttempt } from '../refunds/payment-effects.ts'
import type { SandboxApiApp } from './service.ts'

/** The sentences of the two simulations: a reversal is a lost dispute that was never open. */
const ACTIONS = {
  dispute: 'disputed',
  reverse: 'reversed',
} as const

/** Sets the dispute at the sandbox provider and checks the status at once; the provider's webhook arrives as well. */
export async function simulateDispute(
  app: SandboxApiApp,
  merchant: Merchant,
  reference: string,
  { action, outcome }: { action: keyof typeof ACTIONS; outcome: DisputeReport['status'] },
): Promise<PaymentRow> {
  const payment = await requirePayment(app, merchant, { reference })
  const attempt = await findPaidAttempt(app, payment)
  if (attempt?.gateway !== app.sandbox.name)
    throw stateError(
      `This payment is ${payment.status}; only what was paid in the sandbox can be ${ACTIONS[action]}.`,
    )
  const report = await app.sandbox.dispute(attempt.gatewayKey, outcome)
  if (report.kind === 'unknown') throw new ApiError('temporarily_unavailable')
  // The provider ignores a dispute that is not possible in its state.
  const last = report.kind === 'succeeded' ? report.disputes?.[0]?.status : undefined
  if (last !== outcome) throw stateError(explain(last))
  return (await verifyAttempt(app, { payment, attempt }, 'webhook')).payment
}

/** Why the provider has ignored it. */
function explain(last: DisputeReport['status'] | undefined): string {
  return last === 'lost'
    ? 'The provider has taken the money of this payment back already; a dispute can not be opened or decided any more.'
    : 'No dispute about this payment is open; open one first, with the outcome open.'
}

const stateError = (message: string) => new ApiError('invalid_state', { message })
