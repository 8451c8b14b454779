import { money } from '../core/money.ts'
import type { Attempt } from '../gateways/gateway.ts'
import type { AttemptRow } from './attempt-queries.ts'
import type { PaymentRow } from './queries.ts'

/** An attempt as the connector needs to see it. */
export function toGatewayAttempt(payment: PaymentRow, attempt: AttemptRow, merchantName: string): Attempt {
  return {
    key: attempt.gatewayKey,
    paymentId: payment.id,
    merchantId: payment.merchantId,
    merchantName,
    reference: payment.reference,
    amount: money(payment.amountMinor, payment.currency),
    country: payment.country,
    description: payment.description,
    customer: {
      email: payment.customerEmail,
      firstname: payment.customerFirstname,
      lastname: payment.customerLastname,
    },
    startedAt: attempt.startedAt,
    expiresAt: payment.expiresAt,
  }
}
