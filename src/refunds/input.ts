// Validates the body of a refund request beyond its schema, and converts it.

import { containsCardNumber } from '../core/card-number.ts'
import type { Currency } from '../core/currency.ts'
import { ApiError, errorFromIssues, type Issue, newIssue } from '../core/errors.ts'
import { type Money, parseAmount } from '../core/money.ts'
import { metadataIssues } from '../kit/http/metadata.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import { amountIssues } from '../payments/input.ts'
import type { RefundBody } from './schema.ts'

export interface RefundInput {
  /** If both are present they must name the same payment. */
  payment: { uuid: string; reference?: string } | { reference: string }
  /** In major units of the payment's currency; null refunds the whole remainder. */
  amount: number | null
  reason: string | null
  metadata: Record<string, unknown>
}

export function refundIssues(body: Record<string, unknown>, facts: BodyFacts): Issue[] {
  const isLossy = facts.lossyNumbers.has('amount')
  const message = 'amount has more digits than a JSON number can carry exactly.'
  return [
    ...(body.reference === undefined && body.uuid === undefined
      ? [newIssue('reference', 'missing_reference')]
      : []),
    ...(isLossy ? [newIssue('amount', 'amount_precision', message)] : []),
    ...metadataIssues(body.metadata, facts),
  ]
}

export function toRefundInput({ reference, uuid, amount, reason, metadata }: RefundBody): RefundInput {
  if (reason !== undefined && containsCardNumber(reason)) {
    const details = [newIssue('reason', 'card_data_not_allowed')]
    throw new ApiError('card_data_not_allowed', { details })
  }
  return {
    payment: toPaymentSelector(uuid, reference),
    amount: amount ?? null,
    reason: reason ?? null,
    metadata: metadata ?? {},
  }
}

function toPaymentSelector(uuid: string | undefined, reference: string | undefined): RefundInput['payment'] {
  if (uuid === undefined) return { reference: reference ?? '' }
  return reference === undefined ? { uuid } : { uuid, reference }
}

/** A request that names two different payments is ambiguous, so it is rejected. */
export function requireSamePayment({ payment: selector }: RefundInput, reference: string): void {
  if (selector.reference === undefined || selector.reference === reference) return
  const message = 'uuid and reference name different payments; send one of them.'
  throw errorFromIssues([newIssue('reference', 'validation_failed', message)])
}

const NO_FACTS: BodyFacts = { lossyNumbers: new Set() }

/** Parses the amount in the payment's currency, which defines the number of decimals. */
export function toRefundAmount(amount: number | null, currency: Currency): Money | null {
  if (amount === null) return null
  const read = parseAmount(amount, currency)
  if (typeof read === 'string') throw errorFromIssues(amountIssues({ amount, currency }, NO_FACTS))
  return read
}
