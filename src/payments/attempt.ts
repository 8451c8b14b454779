import { money } from '../core/money.ts'
import type { Attempt, Question } from '../gateways/gateway.ts'
import type { AttemptRow } from './attempt-queries.ts'
import type { PaymentRow } from './queries.ts'

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
export function toQuestion(payment: PaymentRow, attempt: AttemptRow): Question {
  const { gatewayKey: key, operation, startedAt } = attempt
  const { amountMinor, currency, expiresAt } = payment
  return { key, operation, startedAt, expiresAt, amount: money(amountMinor, currency) }
}

/** An attempt as its first row has it. */
export function newAttempt(
  payment: PaymentRow,
  facts: Pick<AttemptRow, 'id' | 'number' | 'operation' | 'channel' | 'choice' | 'startedAt' | 'dueAt'>,
): AttemptRow {
  return {
    ...facts,
    merchantId: payment.merchantId,
    paymentId: payment.id,
    gateway: payment.gateway,
    gatewayKey: facts.id,
    status: 'started',
    gatewayReference: null,
    nextStep: null,
    failureCode: null,
    failureWords: null,
    paidMinor: null,
    paidCurrency: null,
    endedAt: null,
    tries: 0,
    fence: 1,
  }
}
