// Verify: the merchant reads a payment, with a status check if it is not final.

import type { Merchant } from '../core/merchant.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { type PaymentIdentifier, requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { checkStatus } from './status-check.ts'

/** Returns the stored payment if it is final or the gateway does not answer. */
export async function verifyPayment(
  app: PaymentsApp,
  merchant: Merchant,
  name: PaymentIdentifier,
): Promise<PaymentRow> {
  return checkStatus(app, await requirePayment(app, merchant, name), 'verify')
}
