import { uuidV4 } from '../core/ids.ts'
import { money } from '../core/money.ts'
import type { Attempt, Gateway, StatusQuery } from '../gateways/gateway.ts'
import type { Random } from '../kit/random.ts'
import type { PaymentsApp } from './app.ts'
import type { AttemptRow } from './attempt.ts'
import type { PaymentRow } from './payment.ts'

/** An attempt as the connector needs to see it. */
export function toGatewayAttempt(payment: PaymentRow, attempt: AttemptRow, merchantName: string): Attempt {
  return {
    key: attempt.gatewayKey,
    operation: attempt.operation,
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

/** What a gateway is asked about. */
export function toStatusQuery(payment: PaymentRow, attempt: AttemptRow): StatusQuery {
  const { gatewayKey: key, operation, startedAt } = attempt
  const { amountMinor, currency, expiresAt } = payment
  const query = { key, operation, startedAt, expiresAt, amount: money(amountMinor, currency) }
  const isPaid = attempt.status === 'succeeded' || attempt.status === 'duplicate_success'
  return isPaid ? { ...query, isPaid } : query
}

/** The gateway that has the attempt, with the account that it was begun with. */
export function gatewayOf(app: PaymentsApp, attempt: AttemptRow): Promise<Gateway> {
  return app.gateways.get(attempt.merchantId, attempt.gateway, attempt.accountId)
}

/** A fresh key for an attempt at a gateway. It stands on disk before the first call and is the same for every try. */
export function newGatewayKey(random: Random): string {
  return uuidV4(random.bytes(16))
}
