// What a merchant sends to ask for a refund: the rules that the shape cannot say.

import { containsCardNumber } from '../core/card-number.ts'
import type { Currency } from '../core/currency.ts'
import { ApiError, errorFromIssues, type Issue, newIssue } from '../core/errors.ts'
import { type Money, parseAmount } from '../core/money.ts'
import { metadataIssues } from '../kit/http/metadata.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import { amountIssues } from '../payments/input.ts'
import type { RefundBody } from './schema.ts'

export interface RefundInput {
  /** Where both are given they must name the same payment. */
  payment: { uuid: string; reference?: string } | { reference: string }
  /** Read in the currency of the payment; null is all that is left. */
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

/** Who names two payments in one request means one of them, and we cannot know which. */
export function requireSamePayment({ payment: selector }: RefundInput, reference: string): void {
  if (selector.reference === undefined || selector.reference === reference) return
  const message = 'uuid and reference name different payments; send one of them.'
  throw errorFromIssues([newIssue('reference', 'validation_failed', message)])
}

const NO_FACTS: BodyFacts = { lossyNumbers: new Set() }

/** The amount in the payment's currency, which alone says how many decimals it may have. */
export function toRefundAmount(amount: number | null, currency: Currency): Money | null {
  if (amount === null) return null
  const read = parseAmount(amount, currency)
  if (typeof read === 'string') throw errorFromIssues(amountIssues({ amount, currency }, NO_FACTS))
  return read
}
