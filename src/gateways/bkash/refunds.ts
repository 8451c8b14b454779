// Refunds of version 2. bKash takes no key with a refund and would execute it again, so it is sent once. After a lost
// response the list of the payment's refunds says whether it was executed: the one that is not known otherwise.

import { type Static, Type } from 'typebox'
import { equals, formatAmount, readDecimal } from '../../core/money.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Gateway, ProviderRefund, RefundListQuery, RefundOutcome, RefundRequest } from '../gateway.ts'
import { Maybe, type Unknown, unknown, unrecognized } from '../reply.ts'
import { type Client, describeError, exactReader, REFUNDS, readReply } from './client.ts'

const Text = (maxLength: number) => Type.String({ maxLength })

const Refund = Type.Object({
  refundTrxId: Type.String({ minLength: 1, maxLength: 100 }),
  refundTransactionStatus: Text(50),
  refundAmount: Text(50),
  // The list may leave it out.
  sku: Maybe(Text(255)),
})
type Refund = Static<typeof Refund>

const readRefund = exactReader(Refund)
const readRefunds = exactReader(Type.Object({ refundTransactions: Maybe(Type.Array(Refund)) }))

type RefundOperations = Required<Pick<Gateway, 'refund' | 'verifyRefund' | 'listRefunds'>>

const NO_TRANSACTION = unknown('not_sent', 'the transaction of the paid payment is not known')

export function createRefundOperations({ call }: Client): RefundOperations {
  return {
    async refund(request) {
      const { attemptReference: paymentId, receiptNumber: trxId, key, amount } = request
      if (!trxId) return NO_TRANSACTION
      const fields = { paymentId, trxId, refundAmount: formatAmount(amount), sku: key, reason: 'Refund' }
      return fromSubmission(await call(`${REFUNDS}/transaction`, fields), request)
    },

    async verifyRefund(request, gatewayReference) {
      const { attemptReference: paymentId, receiptNumber: trxId } = request
      if (!trxId) return NO_TRANSACTION
      return fromList(await call(`${REFUNDS}/status`, { paymentId, trxId }), request, gatewayReference)
    },

    async listRefunds(query) {
      if (query.kind === 'period') return unknown('not_found', 'bKash lists the refunds of one payment only')
      const { attemptReference: paymentId, receiptNumber: trxId } = query
      if (!trxId) return unknown('not_found', NO_TRANSACTION.message)
      const list = readList(await call(`${REFUNDS}/status`, { paymentId, trxId }))
      if ('kind' in list) return list
      return { kind: 'refunds', refunds: list.map((refund) => toListed(refund, query)) }
    },
  }
}

const STATUSES: Readonly<Record<string, ProviderRefund['status']>> = {
  Completed: 'succeeded',
  Initiated: 'pending',
  Pending: 'pending',
  Failed: 'failed',
}

function statusOf({ refundTransactionStatus: status }: Refund): ProviderRefund['status'] {
  return (Object.hasOwn(STATUSES, status) ? STATUSES[status] : undefined) ?? 'unrecognized'
}

function toListed(
  refund: Refund,
  { attemptKey, currency }: RefundListQuery & { kind: 'payment' },
): ProviderRefund {
  return {
    reference: refund.refundTrxId,
    key: refund.sku || null,
    paymentNames: [attemptKey],
    amount: readDecimal(refund.refundAmount, currency) ?? null,
    status: statusOf(refund),
  }
}

/** Errors that prove that nothing was refunded: period, amount, product, transaction, and the merchant's balance. */
const FAILURES: readonly string[] = ['2023', '2071', '2072', '2073', '2074', '2077', '2127']

function fromSubmission(result: HttpResult | Unknown, request: RefundRequest): RefundOutcome {
  const reply = readReply(result, readRefund)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'body') return fromRefund(reply.body, request)
  const message = describeError(reply)
  if (FAILURES.includes(reply.code)) return { kind: 'failed', message, gatewayReference: null }
  return unknown('no_answer', message)
}

function fromList(
  result: HttpResult | Unknown,
  request: RefundRequest,
  gatewayReference: string | null,
): RefundOutcome {
  const list = readList(result)
  if ('kind' in list) return list
  const found = list.find((refund) =>
    gatewayReference === null ? isOurs(refund, request) : refund.refundTrxId === gatewayReference,
  )
  return found ? fromRefund(found, request) : unknown('not_found', 'bKash does not list this refund')
}

function readList(result: HttpResult | Unknown): Refund[] | Unknown {
  const reply = readReply(result, readRefunds)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return unknown('no_answer', describeError(reply))
  return reply.body.refundTransactions ?? []
}

/** By our key, if the list has it. Otherwise it is the refund of this amount that is none of the others. */
function isOurs(refund: Refund, request: RefundRequest): boolean {
  if (refund.sku) return refund.sku === request.key
  return isOfAmount(refund, request) && !request.otherReferences?.includes(refund.refundTrxId)
}

function isOfAmount({ refundAmount }: Refund, { amount }: RefundRequest): boolean {
  const refunded = readDecimal(refundAmount, amount.currency)
  return refunded !== undefined && equals(refunded, amount)
}

function fromRefund(refund: Refund, request: RefundRequest): RefundOutcome {
  const { refundTrxId: gatewayReference } = refund
  if (!isOfAmount(refund, request)) return unrecognized('bKash answered a refund of another amount')
  const status = statusOf(refund)
  switch (status) {
    case 'failed':
      return { kind: 'failed', message: 'bKash could not execute the refund', gatewayReference }
    case 'unrecognized':
      return unrecognized('bKash answered a status of a refund that we do not know')
    default:
      return { kind: status, gatewayReference }
  }
}
