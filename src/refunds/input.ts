// Validates the body of a refund request beyond its schema, and converts it.

import { assertNoCardNumbers } from '../core/card-number.ts'
import type { Currency } from '../core/currency.ts'
import { ApiError, errorFromIssues, type Issue, newIssue } from '../core/errors.ts'
import { type Money, parseAmount } from '../core/money.ts'
import { metadataIssues } from '../kit/http/metadata.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import { amountIssues } from '../payments/input.ts'
import type { RefundBody } from './schema.ts'

export interface RefundInput {
  /** The merchant's own reference of the refund. */
  refundReference: string | null
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
    ...nameIssues(body),
    ...(isLossy ? [newIssue('amount', 'amount_precision', message)] : []),
    ...metadataIssues(body.metadata, facts),
  ]
}

const PAYMENT_NAMES = [
  ['paymentReference', 'reference'],
  ['paymentUuid', 'uuid'],
] as const

/** The payment needs a name; a name that is given twice must be the same twice. */
function nameIssues(body: Record<string, unknown>): Issue[] {
  if (PAYMENT_NAMES.flat().every((name) => body[name] === undefined))
    return [
      newIssue(
        'paymentReference',
        'missing_reference',
        'Name the payment by paymentReference or by paymentUuid.',
      ),
    ]
  return PAYMENT_NAMES.filter(([name, alias]) => isContradiction(body[name], body[alias])).map(
    ([name, alias]) =>
      newIssue(alias, 'validation_failed', `${alias} is the same field as ${name}; send one of them.`),
  )
}

const isContradiction = (a: unknown, b: unknown) => a !== undefined && b !== undefined && a !== b

export function toRefundInput(body: RefundBody): RefundInput {
  const { refundReference, amount, reason, metadata } = body
  assertNoCardNumbers({ reason })
  return {
    refundReference: refundReference ?? null,
    payment: toPaymentSelector(body.paymentUuid ?? body.uuid, body.paymentReference ?? body.reference),
    amount: amount ?? null,
    reason: reason ?? null,
    metadata: metadata ?? {},
  }
}

function toPaymentSelector(uuid: string | undefined, reference: string | undefined): RefundInput['payment'] {
  if (uuid === undefined) return { reference: reference ?? '' }
  return reference === undefined ? { uuid } : { uuid, reference }
}

/** Integrators often send their own reference of the refund where the payment's is expected, so the message says so. */
export function explainUnknownPayment(error: unknown, { payment: selector }: RefundInput): never {
  if (!(error instanceof ApiError) || error.code !== 'payment_not_found' || 'uuid' in selector) throw error
  const message =
    'There is no payment with this reference. reference and paymentReference name the payment to refund; your own reference of the refund belongs in refundReference.'
  throw new ApiError('payment_not_found', { message, cause: error })
}

/**
 * Without a name of its own, a second partial refund cannot be distinguished from a retry of the first. A second refund of
 * the whole amount is rejected anyway.
 */
export function requireRetryable(
  { refundReference }: RefundInput,
  idempotencyKey: string | undefined,
  amount: Money | null,
  { amountPaidMinor, amountMinor }: { amountPaidMinor: bigint | null; amountMinor: bigint },
): void {
  if (refundReference !== null || idempotencyKey !== undefined || amount === null) return
  if (amount.minor >= (amountPaidMinor ?? amountMinor)) return
  throw new ApiError('idempotency_required', {
    details: [newIssue('refundReference', 'idempotency_required')],
  })
}

const NO_FACTS: BodyFacts = { lossyNumbers: new Set() }

/** Parses the amount in the payment's currency, which defines the number of decimals. */
export function toRefundAmount(amount: number | null, currency: Currency): Money | null {
  if (amount === null) return null
  const read = parseAmount(amount, currency)
  if (typeof read === 'string') throw errorFromIssues(amountIssues({ amount, currency }, NO_FACTS))
  return read
}
