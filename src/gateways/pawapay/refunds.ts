// Refund JSON, and the pure translations between it and the gateway contract. The refund id is our idempotency key:
// pawaPay ignores a second request with it. It takes one refund of a deposit at a time.

import { type Static, Type } from 'typebox'
import { type Currency, isCurrency } from '../../core/currency.ts'
import { equals } from '../../core/money.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { RefundOutcome, RefundRequest } from '../gateway.ts'
import { Maybe, unknown, unrecognized } from '../reply.ts'
import { fromAmount, toAmount } from './amounts.ts'
import {
  describeFailure,
  type ErrorReply,
  FailureReason,
  Identity,
  NotFound,
  readReply,
  Text,
} from './response.ts'

export interface RefundBody {
  refundId: string
  depositId: string
  amount: string
  currency: Currency
}

/** Always sends the amount, also for a full refund: without it pawaPay refunds whatever is left. */
export function toRefundBody({ key, attemptKey, amount }: RefundRequest): RefundBody {
  return { refundId: key, depositId: attemptKey, amount: toAmount(amount), currency: amount.currency }
}

const CreatedRefund = Type.Object({ status: Text(50), failureReason: Maybe(FailureReason) })

const Refund = Type.Object({
  refundId: Identity,
  // Any text: the switch handles unknown values.
  status: Text(50),
  amount: Text(50),
  currency: Text(50),
  failureReason: Maybe(FailureReason),
})
type Refund = Static<typeof Refund>

const readCreatedRefund = jsonReader(CreatedRefund)
const readRefund = jsonReader(
  Type.Union([Type.Object({ status: Type.Literal('FOUND'), data: Refund }), NotFound]),
)

/** `duplicate`: pawaPay already has this refund and did nothing; a status check returns its outcome. */
export function fromRefund(result: HttpResult, key: string): RefundOutcome | { kind: 'duplicate' } {
  const reply = readReply(result, readCreatedRefund)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromErrorReply(reply)
  switch (reply.body.status) {
    case 'ACCEPTED':
      return { kind: 'pending', gatewayReference: key }
    case 'DUPLICATE_IGNORED':
      return { kind: 'duplicate' }
    case 'REJECTED':
      return fromRejection(reply.body.failureReason)
    default:
      return unrecognized('pawaPay answered a status that we do not know')
  }
}

/** Only an invalid request fails for good. A wrong token or a rate limit says nothing about the refund. */
function fromErrorReply({ http, message }: ErrorReply): RefundOutcome {
  if (http === 400) return { kind: 'failed', message, gatewayReference: null }
  return unknown('no_answer', message)
}

// Nothing was begun, and the same request can succeed later: after the refund in progress, when the operator is back,
// or, after UNKNOWN_ERROR, when a status check finds no refund.
const RETRYABLE_CODES: readonly string[] = [
  'REFUND_IN_PROGRESS',
  'PROVIDER_TEMPORARILY_UNAVAILABLE',
  'UNKNOWN_ERROR',
]

function fromRejection(reason: FailureReason | null | undefined): RefundOutcome {
  const message = reason ? `pawaPay rejected it: ${describeFailure(reason)}` : 'pawaPay rejected it'
  if (reason && RETRYABLE_CODES.includes(reason.failureCode)) return unknown('not_found', message)
  return { kind: 'failed', message, gatewayReference: null }
}

export function fromRefundStatus(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result, readRefund)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return unknown('no_answer', reply.message)
  const { body } = reply
  return body.status === 'FOUND'
    ? fromFound(body.data, request)
    : unknown('not_found', 'pawaPay has no such refund')
}

function fromFound(refund: Refund, request: RefundRequest): RefundOutcome {
  const { refundId, status, failureReason } = refund
  if (!matchesRequest(refund, request)) return unrecognized('pawaPay answered about another refund')
  switch (status) {
    case 'ACCEPTED':
    case 'ENQUEUED':
    case 'PROCESSING':
    case 'SUBMITTED':
    case 'IN_RECONCILIATION':
      return { kind: 'pending', gatewayReference: refundId }
    case 'COMPLETED':
      return { kind: 'succeeded', gatewayReference: refundId }
    case 'FAILED':
    case 'REJECTED':
      return fromFailed(refundId, failureReason)
    default:
      return unrecognized('pawaPay answered a status that we do not know')
  }
}

/** A refund outcome carries no amount that the caller could compare, so it is compared here. */
function matchesRequest({ refundId, amount, currency }: Refund, request: RefundRequest): boolean {
  const given = isCurrency(currency) ? fromAmount(amount, currency) : undefined
  return refundId === request.key && given !== undefined && equals(given, request.amount)
}

function fromFailed(refundId: string, reason: FailureReason | null | undefined): RefundOutcome {
  if (reason?.failureCode === 'UNKNOWN_ERROR') return unrecognized('pawaPay answered UNKNOWN_ERROR')
  const message = reason ? `pawaPay answered ${describeFailure(reason)}` : 'pawaPay gave no reason'
  return { kind: 'failed', message, gatewayReference: refundId }
}
