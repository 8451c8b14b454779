// A payment as it stands now, for the merchant who asks.

import type { Merchant } from '../core/merchant.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { type PaymentIdentifier, requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { checkStatus } from './status-check.ts'

/** Asks the gateway when the payment is not final; answers what is stored when the gateway cannot be reached. */
export async function verifyPayment(
  app: PaymentsApp,
  merchant: Merchant,
  name: PaymentIdentifier,
): Promise<PaymentRow> {
  return checkStatus(app, await requirePayment(app, merchant, name), 'verify')
}
