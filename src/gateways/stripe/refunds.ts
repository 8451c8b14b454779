// Refunds: what Stripe's refund objects mean. A refund without a final status is checked again; it fails only if Stripe
// reports it as failed.

import { type Static, Type } from 'typebox'
import { equals } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { ProviderRefund, RefundOutcome, RefundRequest } from '../gateway.ts'
import { Maybe, type Unknown, unrecognized } from '../reply.ts'
import { fromAmount } from './amounts.ts'
import { REFUND_KEY_FIELD } from './forms.ts'
import { describeError, type ErrorReply, fromQueryError, isBusy, readReply } from './response.ts'
import { Amount, Identity, idOf, Metadata, Text } from './shapes.ts'

const Refund = Type.Object({
  id: Identity,
  status: Maybe(Text(50)),
  amount: Amount,
  currency: Text(10),
  metadata: Maybe(Metadata),
  failure_reason: Maybe(Text(100)),
})
type Refund = Static<typeof Refund>

const readRefund = schemaReader(Refund)
const readPage = schemaReader(
  Type.Object({
    data: Type.Array(
      Type.Object({
        ...Refund.properties,
        payment_intent: Type.Optional(Type.Unknown()),
        charge: Maybe(Text(255)),
      }),
    ),
    has_more: Maybe(Type.Boolean()),
  }),
)
export type RefundPage = NonNullable<ReturnType<typeof readPage>>

export const REFUND_PAGE_SIZE = 100

export function fromRefundPage(result: HttpResult): RefundPage | Unknown {
  const reply = readReply(result, readPage)
  if (reply.kind === 'unknown') return reply
  return reply.kind === 'error' ? fromQueryError(reply) : reply.body
}

export function toProviderRefund(refund: RefundPage['data'][number]): ProviderRefund {
  const key = refund.metadata?.[REFUND_KEY_FIELD]
  return {
    reference: refund.id,
    key: typeof key === 'string' ? key : null,
    paymentNames: [idOf(refund.payment_intent), refund.charge].filter((name) => name != null),
    amount: fromAmount(refund.amount, refund.currency) ?? null,
    status: STATUSES[refund.status ?? ''] ?? 'unrecognized',
  }
}

const STATUSES: Readonly<Record<string, ProviderRefund['status']>> = {
  succeeded: 'succeeded',
  pending: 'pending',
  requires_action: 'pending',
  failed: 'failed',
  canceled: 'failed',
}

export function fromRefund(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result, readRefund)
  if (reply.kind === 'unknown') return reply
  return reply.kind === 'error' ? fromFailedRefund(reply) : toOutcome(reply.body, request)
}

export function fromRefundQuery(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result, readRefund)
  if (reply.kind === 'unknown') return reply
  return reply.kind === 'error' ? fromQueryError(reply) : toOutcome(reply.body, request)
}

/**
 * Stripe evaluated the request and will not refund it. A wrong key and a rate limit are not final: the same refund
 * succeeds later.
 */
function fromFailedRefund(reply: ErrorReply): RefundOutcome {
  const isFinalStatus = [400, 402, 404].includes(reply.http)
  const isOfRequest = reply.error?.type === 'invalid_request_error' || reply.error?.type === 'card_error'
  if (isFinalStatus && isOfRequest && !isBusy(reply))
    return { kind: 'failed', message: describeError(reply), gatewayReference: null }
  return fromQueryError(reply)
}

function toOutcome(refund: Refund, request: RefundRequest): RefundOutcome {
  const { id, status } = refund
  if (!matchesRequest(refund, request)) return unrecognized('Stripe answered about another refund')
  switch (status) {
    case 'succeeded':
      return { kind: 'succeeded', gatewayReference: id }
    case 'pending':
    case 'requires_action':
      return { kind: 'pending', gatewayReference: id }
    case 'failed':
    case 'canceled':
      return { kind: 'failed', message: describeFailure(refund), gatewayReference: id }
    default:
      return unrecognized(`Stripe answered a status of a refund that we do not know: ${status}`)
  }
}

function matchesRequest(
  { amount, currency, metadata }: Refund,
  { key, amount: requested }: RefundRequest,
): boolean {
  const refunded = fromAmount(amount, currency)
  const refundKey = metadata?.[REFUND_KEY_FIELD]
  return (
    refunded !== undefined && equals(refunded, requested) && (refundKey === undefined || refundKey === key)
  )
}

function describeFailure({ status, failure_reason: reason }: Refund): string {
  return ['Stripe', status, reason].filter((part) => part != null).join(', ')
}
