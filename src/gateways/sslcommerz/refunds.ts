// Refunds. Whether SSLCommerz executes one reference of ours twice is not documented, so a refund is sent once. Its id is
// only in the response: after a lost one a person must look. SSLCommerz takes refunds only from registered IP addresses.

import { Type } from 'typebox'
import { uuidToBase36 } from '../../core/ids.ts'
import { formatAmount } from '../../core/money.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Gateway, RefundOutcome, RefundRequest } from '../gateway.ts'
import { Maybe, unknown, unrecognized } from '../reply.ts'
import { type Client, describeRejection, exactReader, readReply } from './client.ts'

const readRefund = exactReader(
  Type.Object({ status: Type.String(), refund_ref_id: Maybe(Type.String({ maxLength: 100 })) }),
)

export function createRefundOperations({
  query,
}: Client): Required<Pick<Gateway, 'refund' | 'verifyRefund'>> {
  return {
    async refund(request) {
      const { receiptNumber, amount, key } = request
      if (!receiptNumber) return unknown('not_sent', 'the bank transaction of the paid payment is not known')
      const fields = {
        bank_tran_id: receiptNumber,
        refund_amount: formatAmount(amount),
        refund_remarks: 'Refund',
        // Accounts differ in which of the two they want: both are our key.
        refund_trans_id: uuidToBase36(key),
        refe_id: key,
      }
      return fromSubmission(await query(fields), request)
    },

    async verifyRefund(_request, reference) {
      if (reference === null) return unknown('not_found', 'SSLCommerz finds a refund by its own id alone')
      return fromStatus(await query({ refund_ref_id: reference }), reference)
    },
  }
}

function fromSubmission(result: HttpResult, { otherReferences = [] }: RefundRequest): RefundOutcome {
  const reply = readReply(result, readRefund)
  if (reply.kind === 'unknown') return reply
  // Rejected before anything was read: like a request that was not sent.
  if (reply.kind === 'rejected') return unknown('not_sent', describeRejection(reply))
  const { status, refund_ref_id: id } = reply.body
  if (status === 'failed')
    return { kind: 'failed', message: 'SSLCommerz did not accept the refund', gatewayReference: null }
  // `processing` means that a refund of the transaction had begun before. It may be another one than this, so nothing follows.
  if (status === 'processing')
    return unrecognized('SSLCommerz answered that a refund of the transaction had begun before')
  if (status !== 'success' || !id || otherReferences.includes(id))
    return unrecognized('SSLCommerz answered a refund that cannot be read')
  return { kind: 'pending', gatewayReference: id }
}

function fromStatus(result: HttpResult, reference: string): RefundOutcome {
  const reply = readReply(result, readRefund)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'rejected') return unknown('no_answer', describeRejection(reply))
  const { status, refund_ref_id: id } = reply.body
  if (id !== reference) return unrecognized('SSLCommerz answered about another refund')
  switch (status) {
    case 'processing':
      return { kind: 'pending', gatewayReference: reference }
    case 'refunded':
      return { kind: 'succeeded', gatewayReference: reference }
    case 'cancelled':
      return { kind: 'failed', message: 'the refund at SSLCommerz is cancelled', gatewayReference: reference }
    default:
      return unrecognized('SSLCommerz answered a status that we do not know')
  }
}
