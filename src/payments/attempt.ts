// The columns of an attempt, which is one try to collect a payment at one gateway.

import type { FailureCode } from '../core/failures.ts'
import type { MethodRow } from '../customers/method.ts'
import type { CheckoutChoice, NextStep } from '../gateways/gateway.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import type { PaymentRow } from './payment.ts'
import type { AttemptStatus } from './states.ts'

export const ATTEMPT = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  paymentId: column<string>('uuid'),
  number: column<number>('integer'),
  operation: column<'checkout' | 'charge'>('text'),
  gateway: column<string>('text'),
  /** The merchant's own account at the gateway; null is the account of this instance. */
  accountId: column<string | null>('uuid'),
  channel: column<string>('text'),
  status: column<AttemptStatus>('text'),
  gatewayKey: column<string>('text'),
  gatewayReference: column<string | null>('text'),
  /** The number by which payer and provider find the payment, such as an M-Pesa code. */
  receiptNumber: column<string | null>('text'),
  /** What `gatewayReference` was before a person proved the payment with another one; null if there was none. */
  earlierReference: column<string | null>('text'),
  /** The provider's object that a signed webhook named: what to ask about while `gatewayReference` is not known. */
  referenceHint: column<string | null>('text'),
  /** What the provider said in a callback to the secret path of this attempt, as JSON of the connector. */
  report: column<string | null>('text'),
  choice: column<CheckoutChoice | null>('jsonb'),
  /** The saved method that the payer of a checkout chose. The method of a charge is in the payment. */
  paymentMethodId: column<string | null>('uuid'),
  nextStep: column<NextStep | null>('jsonb'),
  failureCode: column<FailureCode | null>('text'),
  failureMessage: column<string | null>('text'),
  paidMinor: column<bigint | null>('bigint'),
  paidCurrency: column<string | null>('text'),
  /** How much of a duplicate payment was refunded. */
  refundedMinor: column<bigint>('bigint'),
  startedAt: column<Date>('timestamptz'),
  endedAt: column<Date | null>('timestamptz'),
  /** When the payer said that the money was sent. */
  sentAt: column<Date | null>('timestamptz'),
  /** When the payer came back from the gateway's page. */
  returnedAt: column<Date | null>('timestamptz'),
  /** When the call was begun that completes the attempt; null if it was not made, or if nothing was executed. */
  completionStartedAt: column<Date | null>('timestamptz'),
  /** When the next poll is due; null for none. */
  dueAt: column<Date | null>('timestamptz'),
  polls: column<number>('integer'),
  /** Grows with every claim by the resolver: a writer with an older fence has lost its lease. */
  fence: column<number>('integer'),
})

export type AttemptRow = RowOf<typeof ATTEMPT>

export const ATTEMPT_COLUMNS = ATTEMPT.select('a')

/** The columns that a record of the API shows. */
export const SHOWN_ATTEMPT = [
  'id',
  'gateway',
  'channel',
  'status',
  'failureCode',
  'gatewayReference',
  'receiptNumber',
  'gatewayKey',
  'startedAt',
  'endedAt',
  'refundedMinor',
] as const satisfies (keyof AttemptRow)[]

export type ShownAttempt = Pick<AttemptRow, (typeof SHOWN_ATTEMPT)[number]>

/** The values of a new attempt; the others follow from the payment or are the same for every new attempt. */
export type NewAttempt = Pick<
  AttemptRow,
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
> &
  Partial<Pick<AttemptRow, 'paymentMethodId'>>

/** The columns that the insert of an attempt sets. The others have a default in the database, as `newAttempt` has. */
export const NEW_ATTEMPT = ATTEMPT.except(
  'gatewayReference',
  'receiptNumber',
  'earlierReference',
  'referenceHint',
  'report',
  'nextStep',
  'failureCode',
  'failureMessage',
  'paidMinor',
  'paidCurrency',
  'refundedMinor',
  'endedAt',
  'sentAt',
  'returnedAt',
  'completionStartedAt',
  'polls',
  'fence',
)

export function newAttempt(payment: Pick<PaymentRow, 'merchantId' | 'id'>, values: NewAttempt): AttemptRow {
  return {
    paymentMethodId: null,
    ...values,
    merchantId: payment.merchantId,
    paymentId: payment.id,
    status: 'started',
    gatewayReference: null,
    receiptNumber: null,
    earlierReference: null,
    referenceHint: null,
    report: null,
    nextStep: null,
    failureCode: null,
    failureMessage: null,
    paidMinor: null,
    paidCurrency: null,
    refundedMinor: 0n,
    endedAt: null,
    sentAt: null,
    returnedAt: null,
    completionStartedAt: null,
    polls: 0,
    fence: 1,
  }
}

/** A payment with one of its attempts, as the caller last read them. */
export interface PaymentWithAttempt {
  payment: PaymentRow
  attempt: AttemptRow
  method?: MethodRow | null
}
