import type { Currency } from '../core/currency.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { PaymentStatus } from '../payments/states.ts'
import type { CaseEnding, CaseKind, CaseOwner, Resolution } from './case-kinds.ts'

/** A resolution that waits for another person's approval. */
export interface Proposal {
  resolution: Resolution
  note: string
  proof: string | null
  by: string
  /** The account of an operator, for comparison alone: no record shows it. */
  operatorId?: string
  at: string
}

export const CASE = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  kind: column<CaseKind>('text'),
  owner: column<CaseOwner>('text'),
  paymentId: column<string>('uuid'),
  attemptId: column<string>('uuid'),
  refundId: column<string | null>('uuid'),
  providerMessage: column<string | null>('text'),
  /** The amount of refunds at the provider that could not be booked. */
  unbookedMinor: column<bigint | null>('bigint'),
  /** The provider's ids of these refunds. */
  unbookedReferences: column<string[]>('text[]'),
  /** The ids of those that a person had decided when the case was opened again. */
  decidedReferences: column<string[]>('text[]'),
  createdAt: column<Date>('timestamptz'),
  /** Grows by one each time the case is opened or closed. */
  version: column<number>('integer'),
  resolution: column<CaseEnding | null>('text'),
  note: column<string | null>('text'),
  proof: column<string | null>('text'),
  resolvedBy: column<string | null>('text'),
  proposal: column<Proposal | null>('jsonb'),
  closedAt: column<Date | null>('timestamptz'),
})

export type CaseRow = RowOf<typeof CASE>

/** What is known about the payment, the attempt and the refund of a case. */
export interface CaseFacts {
  paymentReference: string
  paymentKind: PaymentRow['kind']
  paymentStatus: PaymentStatus
  amountMinor: bigint
  currency: Currency
  gateway: string
  /** Our key at the gateway, and the gateway's own reference. */
  gatewayKey: string
  gatewayReference: string | null
  receivedMinor: bigint | null
  receivedCurrency: string | null
  refundMinor: bigint | null
  /** It is about money that was never the merchant's: of a duplicate payment, or a return of unmatched money. */
  isPayersMoney: boolean
  /** When the gateway was asked for the money, and how often for the outcome. */
  askedAt: Date
  checks: number
}

export interface CaseDetails {
  row: CaseRow
  facts: CaseFacts
}

/** The refund of a case, as far as the case shows it. */
export interface CaseRefund {
  id: string
  amountMinor: bigint
  isDuplicate: boolean
  gatewayKey: string
  gatewayReference: string | null
  createdAt: Date
  polls: number
}

export function factsOf(payment: PaymentRow, attempt: AttemptRow, refund: CaseRefund | null): CaseFacts {
  // Beside the proof, the case shows what the gateway itself had said.
  const gatewayReference = attempt.earlierReference ?? attempt.gatewayReference
  const asked = refund ?? { ...attempt, gatewayReference, createdAt: attempt.startedAt }
  return {
    paymentReference: payment.reference,
    paymentKind: payment.kind,
    paymentStatus: payment.status,
    amountMinor: payment.amountMinor,
    currency: payment.currency,
    gateway: attempt.gateway,
    gatewayKey: asked.gatewayKey,
    gatewayReference: asked.gatewayReference,
    receivedMinor: attempt.paidMinor,
    receivedCurrency: attempt.paidCurrency,
    refundMinor: refund?.amountMinor ?? null,
    isPayersMoney: attempt.status === 'duplicate_success' || refund?.isDuplicate === true,
    askedAt: asked.createdAt,
    checks: asked.polls,
  }
}
