// Refunds of MTN MoMo, which the product Disbursement makes. We choose the id of a refund, which is our key.

import { equals } from '../../core/money.ts'
import type { Gateway, RefundOutcome, RefundRequest } from '../gateway.ts'
import { assumeSubmitted, type Unknown, unknown, unrecognized } from '../reply.ts'
import type { Product } from './client.ts'
import {
  readPaid,
  readStatus,
  readSubmission,
  reasonOf,
  type SubmissionReply,
  type Transaction,
  toAmount,
} from './response.ts'
import { describeReason } from './wire.ts'

export function openRefunds(disbursement: Product): Required<Pick<Gateway, 'refund' | 'verifyRefund'>> {
  const verifyRefund = async (request: RefundRequest): Promise<RefundOutcome> =>
    fromRefundStatus(await disbursement.get(`/v1_0/refund/${request.key}`, readStatus), request)
  return {
    verifyRefund,
    async refund(request) {
      const submission = { id: request.key, body: toRefundBody(request) }
      const reply = await disbursement.submitLater('/v1_0/refund', readSubmission, submission)
      const outcome = fromRefundReply(reply, request.key)
      return outcome.kind === 'ask'
        ? assumeSubmitted(await verifyRefund(request), outcome.otherwise)
        : outcome
    },
  }
}

interface RefundBody {
  amount: string
  currency: string
  externalId: string
  payerMessage: string
  payeeNote: string
  referenceIdToRefund: string
}

function toRefundBody({ key, attemptKey, amount }: RefundRequest): RefundBody {
  return {
    amount: toAmount(amount),
    currency: amount.currency,
    externalId: key,
    payerMessage: 'Refund',
    payeeNote: `Refund ${key}`,
    referenceIdToRefund: attemptKey,
  }
}

/** `ask`: only the status says what has become of it. `otherwise`: the outcome if MTN does not have it. */
function fromRefundReply(
  reply: SubmissionReply,
  key: string,
): RefundOutcome | { kind: 'ask'; otherwise: RefundOutcome } {
  switch (reply.kind) {
    case 'accepted':
      return { kind: 'pending', gatewayReference: key }
    case 'repeated':
      return {
        kind: 'ask',
        otherwise: unknown('no_answer', 'MTN MoMo has this refund and does not return it'),
      }
    case 'denied':
      return { kind: 'ask', otherwise: failed(reply.message) }
    case 'rejected':
      // Only an invalid request fails for good. A missing permission or a rate limit says nothing about the refund.
      return reply.http === 400 ? failed(reply.message) : unknown('no_answer', reply.message)
    case 'busy':
      return unknown('no_answer', reply.message)
    case 'unknown':
      return reply
  }
}

const failed = (message: string): RefundOutcome => ({ kind: 'failed', message, gatewayReference: null })

function fromRefundStatus(answer: Transaction | Unknown, request: RefundRequest): RefundOutcome {
  if ('kind' in answer) return answer
  if (!isAbout(answer, request)) return unrecognized('MTN MoMo answered about another refund')
  const gatewayReference = request.key
  switch (answer.status) {
    case 'CREATED':
    case 'PENDING':
      return { kind: 'pending', gatewayReference }
    case 'SUCCESSFUL':
      return { kind: 'succeeded', gatewayReference }
    case 'FAILED':
      return { kind: 'failed', message: describeReason(reasonOf(answer)), gatewayReference }
    default:
      return unrecognized('MTN MoMo answered a status that we do not know')
  }
}

/** A refund outcome carries no amount that the caller could compare, so it is compared here. */
function isAbout(transaction: Transaction, { key, amount }: RefundRequest): boolean {
  const given = readPaid(transaction)
  return transaction.externalId === key && given !== undefined && equals(given, amount)
}
