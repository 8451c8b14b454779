// Refunds. Chapa takes no key with them, and their id is in the response alone: after a lost response a refund cannot be
// found, and a person must look in the dashboard.

import { type Static, Type } from 'typebox'
import { formatAmount, readDecimal } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Gateway, ProviderRefund, RefundOutcome, RefundRequest } from '../gateway.ts'
import { Maybe, unknown, unrecognized } from '../reply.ts'
import {
  Decimal,
  describeError,
  type ErrorReply,
  Identity,
  isKeyRefused,
  readReply,
  Text,
} from './response.ts'
import { fromQuery, isPayment } from './wire.ts'

export interface RefundClient {
  get(path: string): Promise<HttpResult>
  postForm(path: string, form: URLSearchParams): Promise<HttpResult>
}

export function createRefundOperations({
  get,
  postForm,
}: RefundClient): Required<Pick<Gateway, 'refund' | 'verifyRefund' | 'listRefunds'>> {
  const findPayment = async (attemptKey: string) =>
    fromQuery(await get(`/transaction/verify/${encodeURIComponent(attemptKey)}`))
  const isRefundedByPayment = async ({ attemptKey }: RefundRequest) => {
    const payment = await findPayment(attemptKey)
    return isPayment(payment) && payment.status === 'refunded'
  }

  return {
    async refund(request) {
      const path = `/refund/${encodeURIComponent(request.attemptKey)}`
      return fromRefund(await postForm(path, toRefundForm(request)), request)
    },

    async verifyRefund(request, reference) {
      if (reference === null) return notFound()
      const outcome = fromRefundQuery(await get(`/refund/${encodeURIComponent(reference)}/verify`), request)
      // Accepted without an id: whether our key names the refund is not documented, but the payment says the end. After a
      // partial refund it does not say which one has ended.
      const isByPayment = reference === request.attemptKey && request.isFull && isNotFound(outcome)
      return isByPayment && (await isRefundedByPayment(request))
        ? { kind: 'succeeded', gatewayReference: reference }
        : outcome
    },

    /** Chapa says only that a payment is refunded, neither how much nor by which refund. */
    async listRefunds(query) {
      if (query.kind === 'period') return unknown('not_found', 'Chapa has no list of refunds')
      const { attemptKey, refunded } = query
      const payment = await findPayment(attemptKey)
      if (!isPayment(payment))
        return payment.kind === 'error' ? unknown('no_answer', describeError(payment)) : payment
      const isForeign = payment.status === 'refunded' && refunded.minor === 0n
      return { kind: 'refunds', refunds: isForeign ? [unnamedRefund(attemptKey)] : [] }
    },
  }
}

/** A refund that is none of ours. Without an amount it is not booked: a person decides. */
function unnamedRefund(attemptKey: string): ProviderRefund {
  return {
    reference: attemptKey,
    key: null,
    paymentNames: [attemptKey],
    amount: null,
    status: 'succeeded',
  }
}

/** Always with the amount: without it Chapa refunds all of the payment. */
function toRefundForm({ key, amount }: RefundRequest): URLSearchParams {
  return new URLSearchParams({
    amount: formatAmount(amount),
    reason: 'Refund',
    // Shown in the dashboard, where a person looks for a refund whose response was lost.
    'meta[reference]': key,
  })
}

const Refund = Type.Object({
  ref_id: Maybe(Identity),
  // Any text: the switch handles unknown values.
  status: Maybe(Text),
  amount: Maybe(Decimal),
})
type Refund = Static<typeof Refund>

const readRefund = schemaReader(Refund)

function fromRefund(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromRejection(reply)
  const refund = reply.status === 'success' ? readRefund(reply.data ?? {}) : undefined
  if (!refund) return unrecognized('Chapa answered a refund that cannot be read')
  return fromState(refund, refund.ref_id ?? request.attemptKey, request)
}

// Chapa made no refund. Not 409: another request may be in progress.
const FAILURES: readonly number[] = [400, 404, 422]

/** A refused key or a rate limit had no effect, like a request that was not sent: the same refund is sent again. */
function fromRejection(error: ErrorReply): RefundOutcome {
  const message = describeError(error)
  if (FAILURES.includes(error.http)) return { kind: 'failed', message, gatewayReference: null }
  const hadNoEffect = isKeyRefused(error) || error.http === 429
  return unknown(hadNoEffect ? 'not_sent' : 'no_answer', message)
}

function fromRefundQuery(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error')
    return reply.http === 404 ? notFound() : unknown('no_answer', describeError(reply))
  const refund = readRefund(reply.data)
  if (refund?.status == null) return unrecognized('Chapa answered a refund that cannot be read')
  return fromState(refund, refund.ref_id ?? request.attemptKey, request)
}

/** A refund outcome carries no amount that the caller could compare, so it is compared here. */
function fromState({ status, amount: given }: Refund, id: string, { amount }: RefundRequest): RefundOutcome {
  if (given != null && readDecimal(given, amount.currency)?.minor !== amount.minor)
    return unrecognized('Chapa answered a refund of another amount')
  switch (status?.toLowerCase() ?? 'initiated') {
    case 'initiated':
    case 'processing':
    case 'pending':
      return { kind: 'pending', gatewayReference: id }
    case 'refunded':
    case 'success':
      return { kind: 'succeeded', gatewayReference: id }
    // The money is back at the merchant.
    case 'reversed':
    case 'failed':
      return { kind: 'failed', message: `the refund at Chapa is ${status}`, gatewayReference: id }
    default:
      return unrecognized('Chapa answered a status that we do not know')
  }
}

const isNotFound = (outcome: RefundOutcome) => outcome.kind === 'unknown' && outcome.reason === 'not_found'

function notFound(): RefundOutcome {
  return unknown('not_found', 'Chapa does not find the refund: see its dashboard')
}
