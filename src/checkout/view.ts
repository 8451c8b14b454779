// A checkout as the pages read it: the payment with its attempts.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { findPayment, findPaymentByAccessHash, listAttempts, requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { hashAccessCode } from '../payments/record.ts'
import { CUSTOMER_CANCELLED } from '../payments/states.ts'

export interface CheckoutView {
  payment: PaymentRow
  /** Every attempt so far, in order. */
  attempts: readonly AttemptRow[]
  /** The latest attempt, whatever its status. */
  attempt: AttemptRow | undefined
  /** The payer has cancelled, or the payment has ended after that. */
  isCancelled: boolean
}

/** The payment of a payer's link. An unknown code gets the same error as any other missing payment. */
export async function requireCheckout(app: PaymentsApp, accessCode: string): Promise<CheckoutView> {
  const payment = await findPaymentByAccessHash(app.db, hashAccessCode(accessCode))
  if (!payment) throw new ApiError('payment_not_found')
  return withAttempts(app, payment)
}

/** The checkout with the merchant's reference; a charge is not found. */
export async function requireCheckoutPayment(
  app: PaymentsApp,
  merchant: Merchant,
  reference: string,
): Promise<CheckoutView> {
  const payment = await requirePayment(app, merchant, { reference })
  if (payment.kind !== 'checkout') throw new ApiError('payment_not_found')
  return withAttempts(app, payment)
}

export async function withAttempts(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutView> {
  const attempts = await listAttempts(app.db, payment.merchantId, payment.id)
  const isCancelled = payment.status === 'abandoned' || payment.statusReason === CUSTOMER_CANCELLED
  return { payment, attempts, attempt: attempts.at(-1), isCancelled }
}

export async function reloadView(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutView> {
  const fresh = await findPayment(app.db, payment.merchantId, payment.id)
  if (!fresh) throw new Error(`payment ${payment.id} does not exist`)
  return withAttempts(app, fresh)
}
