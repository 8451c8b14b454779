// Refunds. Wave returns the whole payment, once for each session however often it is asked, and answers with an empty
// body. There is no status query: the same request again is one.

import type { HttpResult } from '../../kit/http/http-client.ts'
import type { RefundOutcome, RefundRequest } from '../gateway.ts'
import { isAcceptedWithoutBody, unknown } from '../reply.ts'
import { describeError, readReply } from './client.ts'

const REFUND_FAILED = 'checkout-refund-failed'

/** A body that is not empty may be the page of a proxy. */
export function isAccepted(result: HttpResult): boolean {
  const isEmptyObject = result.kind === 'answered' && result.status === 200 && String(result.body) === '{}'
  return isAcceptedWithoutBody(result) || isEmptyObject
}

export function fromRefund(result: HttpResult, { attemptReference }: RefundRequest): RefundOutcome {
  if (isAccepted(result)) return { kind: 'succeeded', gatewayReference: attemptReference }
  const reply = readReply(result, () => undefined)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error' && reply.code === REFUND_FAILED)
    return { kind: 'failed', message: describeError(reply), gatewayReference: null }
  // A wrong key, a disabled wallet or a rate limit says nothing about the refund, which can be sent again.
  return unknown('no_answer', reply.kind === 'error' ? describeError(reply) : 'unreadable response')
}
