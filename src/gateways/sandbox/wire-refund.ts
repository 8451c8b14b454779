// The provider's refund JSON, and its translation. A refund is serialized like any other record.

import { type Static, Type } from 'typebox'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { CurrencyCode } from '../../kit/http/schema.ts'
import type { RefundOutcome, RefundRequest } from '../gateway.ts'
import { unrecognized } from '../reply.ts'
import { Identity, MinorUnits, type RecordBody, readReply, Text } from './wire.ts'

export const RefundBody = Type.Object({
  /** The key of the refunded payment. */
  payment: Identity,
  amount: MinorUnits,
  currency: CurrencyCode,
})
export type RefundBody = Static<typeof RefundBody>

export function toRefundBody({ attemptKey, amount }: RefundRequest): RefundBody {
  return { payment: attemptKey, amount: String(amount.minor), currency: amount.currency }
}

const readError = jsonReader(Type.Object({ error: Type.Object({ message: Text(1_000) }) }))

/** The provider's status for "nothing to refund": nothing was begun. */
const NOT_REFUNDABLE = 422

export function fromRefund(result: HttpResult, request: RefundRequest): RefundOutcome {
  if (result.kind === 'answered' && result.status === NOT_REFUNDABLE) {
    const message = readError(result.body.toString())?.error.message ?? 'the sandbox refused the refund'
    return { kind: 'failed', message, gatewayReference: null }
  }
  const body = readReply(result)
  return !('id' in body) ? body : fromRecord(body, request)
}

function fromRecord(body: RecordBody, { key, amount }: RefundRequest): RefundOutcome {
  const matchesRequest = body.amount === String(amount.minor) && body.currency === amount.currency
  if (body.key !== key || body.kind !== 'refund' || !matchesRequest)
    return unrecognized('the sandbox answered about another refund')
  switch (body.status) {
    case 'succeeded':
      return { kind: 'succeeded', gatewayReference: body.id }
    case 'pending':
      return { kind: 'pending', gatewayReference: body.id }
    case 'declined':
      return { kind: 'failed', message: body.message ?? 'declined', gatewayReference: body.id }
    default:
      return unrecognized(`the sandbox answered a status that we do not know: ${body.status}`)
  }
}
