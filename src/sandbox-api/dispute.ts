// Simulates the payer's bank in the sandbox: opens and decides disputes, and reverses payments.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { DisputeReport } from '../gateways/gateway.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { findPaidAttempt } from '../refunds/payment-effects.ts'
import type { SandboxApiApp } from './service.ts'

/** Sets the dispute at the sandbox provider and checks the status at once; the provider's webhook arrives as well. */
export async function simulateDispute(
  app: SandboxApiApp,
  merchant: Merchant,
  reference: string,
  outcome: DisputeReport['status'],
): Promise<PaymentRow> {
  const payment = await requirePayment(app, merchant, { reference })
  const attempt = await findPaidAttempt(app, payment)
  if (attempt?.gateway !== app.sandbox.name) throw disputeStateError(payment)
  const report = await app.sandbox.dispute(attempt.gatewayKey, outcome)
  if (report.kind === 'unknown') throw new ApiError('temporarily_unavailable')
  // The provider ignores a dispute that is not possible in its state.
  if (report.kind !== 'succeeded' || report.disputes?.[0]?.status !== outcome)
    throw disputeStateError(payment)
  return (await verifyAttempt(app, { payment, attempt }, 'webhook')).payment
}

function disputeStateError({ status }: PaymentRow): ApiError {
  return new ApiError('invalid_state', {
    message: `This payment is ${status}; a dispute can be opened about what was paid in the sandbox, and decided once.`,
  })
}
