// Refunds. Paymob takes no key with them and has no list of them. The paid transaction says how much of it was returned: that
// amount, compared with our earlier refunds, decides whether a refund was executed.

import { money } from '../../core/money.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Gateway, ProviderRefund, RefundListQuery, RefundOutcome, RefundRequest } from '../gateway.ts'
import { unknown, unrecognized } from '../reply.ts'
import { type Client, describeError } from './client.ts'
import { toCents } from './intentions.ts'
import {
  type Found,
  fromRefusedQuery,
  fromTransactionReply,
  parentOf,
  type Transaction,
} from './transactions.ts'

export const pathOf = (id: string) => `/api/acceptance/transactions/${encodeURIComponent(id)}`

export function openRefunds(
  client: Client,
): Required<Pick<Gateway, 'refund' | 'verifyRefund' | 'listRefunds'>> {
  const find = (id: string) => client.ask(pathOf(id), fromTransactionReply)

  const findByAmount = async (request: RefundRequest) =>
    fromPaidTransaction(await find(request.attemptReference), request)

  return {
    async refund(request) {
      const earlier = await findByAmount(request)
      if (earlier === 'less')
        return { ...unknown('not_sent', 'Paymob does not count an earlier refund yet'), queued: true }
      // Nothing of this refund was sent, so the whole amount as well was returned by someone else.
      if (earlier === 'differs' || earlier.kind === 'succeeded')
        return { kind: 'failed', message: DIFFERS, gatewayReference: null }
      if (!isAbsent(earlier)) return beforeSubmission(earlier)
      const { attemptReference: transaction, amount } = request
      const fields = { transaction_id: Number(transaction), amount_cents: toCents(amount) }
      return fromSubmission(await client.submit('/api/acceptance/void_refund/refund', fields), request)
    },

    async verifyRefund(request, reference) {
      if (reference === null || reference === request.attemptReference) {
        const outcome = await findByAmount(request)
        return typeof outcome === 'string' ? unrecognized(DIFFERS) : outcome
      }
      const found = await find(reference)
      if (found.kind === 'found') return fromRefund(found.transaction, request)
      if (found.kind === 'nothing') return unknown('not_found', 'Paymob does not know this refund')
      return found.kind === 'error' ? fromRefusedQuery(found) : found
    },

    /** Paymob says only how much of a payment it has returned. */
    async listRefunds(query) {
      if (query.kind === 'period') return unknown('not_found', 'Paymob has no list of refunds')
      const found = await find(query.attemptReference)
      if (found.kind === 'unknown') return found
      if (found.kind === 'error') return fromRefusedQuery(found)
      const returned = found.kind === 'found' ? BigInt(found.transaction.refunded_amount_cents ?? 0) : 0n
      const isForeign = returned > query.refunded.minor
      return { kind: 'refunds', refunds: isForeign ? [unnamedRefund(query, returned)] : [] }
    },
  }
}

/** What was returned beyond our refunds. Whether it is one refund or several is not known: a person decides. */
function unnamedRefund(
  { attemptKey, attemptReference, refunded }: PaymentQuery,
  returned: bigint,
): ProviderRefund {
  return {
    reference: `${attemptReference}-returned-${returned}`,
    key: null,
    paymentNames: [attemptKey],
    amount: money(returned - refunded.minor, refunded.currency),
    status: 'unrecognized',
  }
}

type PaymentQuery = Extract<RefundListQuery, { kind: 'payment' }>

const DIFFERS =
  'Paymob has returned another amount of this payment than was requested here: make further refunds in its dashboard'

const isAbsent = (outcome: RefundOutcome) => outcome.kind === 'unknown' && outcome.reason === 'not_found'

/** Nothing was sent yet. What is not recognized stays so, because it would be the same again. */
function beforeSubmission(earlier: RefundOutcome): RefundOutcome {
  return earlier.kind === 'unknown' && earlier.reason !== 'unrecognized'
    ? { ...earlier, reason: 'not_sent' }
    : earlier
}

/** `less`: an earlier refund is not counted yet. `differs`: the sum is neither that without this refund nor that with it. */
function fromPaidTransaction(found: Found, request: RefundRequest): RefundOutcome | 'less' | 'differs' {
  if (found.kind === 'unknown') return found
  if (found.kind === 'error') return fromRefusedQuery(found)
  if (found.kind === 'nothing') return unknown('not_found', 'Paymob does not know the refunded payment')
  const { refunded_amount_cents: returned, order } = found.transaction
  if (returned == null || order.merchant_order_id !== request.attemptKey)
    return unrecognized('Paymob does not say how much of the payment it has returned')
  const ours = BigInt(returned) - (request.refundedBefore?.minor ?? 0n)
  if (ours < 0n) return 'less'
  if (ours === 0n) return unknown('not_found', 'Paymob has not executed this refund')
  return ours === request.amount.minor
    ? { kind: 'succeeded', gatewayReference: request.attemptReference }
    : 'differs'
}

function fromSubmission(result: HttpResult, request: RefundRequest): RefundOutcome {
  const found = fromTransactionReply(result)
  if (found.kind === 'found') return fromRefund(found.transaction, request)
  if (found.kind === 'unknown') return found
  if (found.kind === 'nothing') return unknown('no_answer', 'Paymob does not know the refunded payment')
  // Its own word that it does not refund this: the amount, the balance or the method.
  return found.http === 400 || found.http === 422
    ? { kind: 'failed', message: describeError(found), gatewayReference: null }
    : unknown('no_answer', describeError(found))
}

/** A refund is a transaction with the paid one as its parent. */
function fromRefund(transaction: Transaction, request: RefundRequest): RefundOutcome {
  const { id, success, pending, amount_cents: cents, data } = transaction
  const parent = parentOf(transaction)
  const isOurs = parent === '' || parent === request.attemptReference
  if (!isOurs || BigInt(cents) !== request.amount.minor)
    return unrecognized('Paymob answered about another refund')
  if (success && pending) return unrecognized('Paymob answered a refund that is pending and successful')
  if (success) return { kind: 'succeeded', gatewayReference: id }
  if (pending) return { kind: 'pending', gatewayReference: id }
  const message = data?.message?.slice(0, 200) || 'Paymob could not execute the refund'
  return { kind: 'failed', message, gatewayReference: id }
}
