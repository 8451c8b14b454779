import type { FailureCode } from '../core/failures.ts'
import type { MethodRow } from '../customers/method.ts'
import type { CheckoutChoice, NextStep } from '../gateways/gateway.ts'
import type { PaymentRow } from './payment.ts'
import type { AttemptStatus } from './states.ts'

type InitialField =
  | 'id'
  | 'number'
  | 'operation'
  | 'gateway'
  | 'accountId'
  | 'gatewayKey'
  | 'channel'
  | 'choice'
  | 'startedAt'
  | 'dueAt'

/** An attempt as its first row has it. */
export function newAttempt(payment: PaymentRow, facts: Pick<AttemptRow, InitialField>): AttemptRow {
  return {
    ...facts,
    merchantId: payment.merchantId,
    paymentId: payment.id,
    status: 'started',
    gatewayReference: null,
    nextStep: null,
    failureCode: null,
    failureMessage: null,
    paidMinor: null,
    paidCurrency: null,
    refundedMinor: 0n,
    endedAt: null,
    sentAt: null,
    returnedAt: null,
    polls: 0,
    fence: 1,
  }
}

export interface AttemptRow {
  merchantId: string
  id: string
  paymentId: string
  number: number
  operation: 'checkout' | 'charge'
  gateway: string
  /** The merchant's own account at the gateway; null is the installation's. */
  accountId: string | null
  channel: string
  status: AttemptStatus
  gatewayKey: string
  gatewayReference: string | null
  choice: CheckoutChoice | null
  nextStep: NextStep | null
  failureCode: FailureCode | null
  failureMessage: string | null
  paidMinor: bigint | null
  paidCurrency: string | null
  /** What has gone back of money that came twice. */
  refundedMinor: bigint
  startedAt: Date
  endedAt: Date | null
  /** When the payer said that the money was sent. */
  sentAt: Date | null
  /** When the payer came back from the gateway's page. */
  returnedAt: Date | null
  dueAt: Date | null
  polls: number
  fence: number
}

export const ATTEMPT_COLUMNS = `
  a.merchant_id as "merchantId", a.id, a.payment_id as "paymentId", a.number, a.operation, a.gateway,
  a.account_id as "accountId", a.channel, a.status, a.gateway_key as "gatewayKey", a.gateway_reference as "gatewayReference", a.choice,
  a.next_step as "nextStep", a.failure_code as "failureCode", a.failure_message as "failureMessage",
  a.paid_minor as "paidMinor", a.paid_currency as "paidCurrency", a.refunded_minor as "refundedMinor", a.started_at as "startedAt",
  a.ended_at as "endedAt", a.sent_at as "sentAt", a.returned_at as "returnedAt", a.due_at as "dueAt", a.polls, a.fence`

/** A payment with the attempt in question, as last seen. */
export interface PaymentWithAttempt {
  payment: PaymentRow
  attempt: AttemptRow
  method?: MethodRow | null
}
