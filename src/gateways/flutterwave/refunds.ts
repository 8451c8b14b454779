// Refunds. Flutterwave has no idempotency key for refunds, but returns a comment. The comment holds our key, so a
// refund whose response was lost is found and not executed twice.

import { type Static, Type } from 'typebox'
import type { Currency } from '../../core/currency.ts'
import { money } from '../../core/money.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Gateway, ProviderRefund, RefundList, RefundOutcome, RefundRequest } from '../gateway.ts'
import { Maybe, unknown, unrecognized } from '../reply.ts'
import { DECIMAL, fromMajor, toMajor } from './amounts.ts'
import type { Client } from './client.ts'
import { isAmbiguous, redact } from './declines.ts'
import { describeAccessError, type ErrorReply, Identity, isRejection, readReply, Text } from './response.ts'

export function createRefundOperations({
  get,
  post,
}: Client): Required<Pick<Gateway, 'refund' | 'verifyRefund' | 'listRefunds'>> {
  const find = async (request: RefundRequest) =>
    fromRefunds(await get(`/refunds?id=${encodeURIComponent(request.attemptReference)}`), request)

  return {
    async refund(request) {
      // The same refund sent twice would execute twice, so each submission first looks for an earlier one.
      const earlier = await find(request)
      // If the lookup failed, nothing was sent.
      if (earlier.kind === 'unknown' && earlier.reason === 'no_answer')
        return { ...earlier, reason: 'not_sent' }
      if (earlier.kind !== 'unknown' || earlier.reason !== 'not_found') return earlier
      const path = `/transactions/${encodeURIComponent(request.attemptReference)}/refund`
      return fromRefund(await post(path, toRefundBody(request)), request)
    },

    async listRefunds(query) {
      if (query.kind === 'payment') {
        const { attemptReference, currency } = query
        return toRefundList(await get(`/refunds?id=${encodeURIComponent(attemptReference)}`), currency)
      }
      const days = `from=${toDay(query.from)}&to=${toDay(query.to)}`
      const refunds: ProviderRefund[] = []
      for (let page = 1; page <= MAX_PAGES; page += 1) {
        const found = toRefundList(await get(`/refunds?${days}&page=${page}`), null)
        if (found.kind === 'unknown') return found
        const fresh = found.refunds.filter(
          (one) => !refunds.some(({ reference }) => reference === one.reference),
        )
        refunds.push(...fresh)
        if (fresh.length === 0) break
      }
      return { kind: 'refunds', refunds }
    },

    verifyRefund: async (request, reference) =>
      reference === null
        ? find(request)
        : fromRefundQuery(await get(`/refunds/${encodeURIComponent(reference)}`), request),
  }
}

// The length of a page is not documented, so a page without new refunds is the last one.
const MAX_PAGES = 50
const toDay = (time: Date) => time.toISOString().slice(0, 10)

/** The list has no currency: amounts are in that of the payment. */
function toRefundList(result: HttpResult, currency: Currency | null): RefundList {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error')
    return isNotFound(reply)
      ? { kind: 'refunds', refunds: [] }
      : unknown('no_answer', `Flutterwave answered HTTP ${reply.http}`)
  const rows = readRefunds(reply.data)
  if (!rows) return unrecognized('Flutterwave answered refunds that cannot be read')
  return { kind: 'refunds', refunds: rows.map((row) => toProviderRefund(row, currency)) }
}

const KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function toProviderRefund(refund: Refund, currency: Currency | null): ProviderRefund {
  const { id, comment, tx_id: payment, flw_ref: reference, amount_refunded: amount } = refund
  const outcome = fromStatus(refund)
  return {
    reference: id,
    key: comment != null && KEY.test(comment) ? comment : null,
    paymentNames: [payment, reference].filter((name) => name != null),
    amount: currency && amount != null ? (fromMajor(amount, currency, money(0n, currency)) ?? null) : null,
    status: outcome.kind === 'unknown' ? 'unrecognized' : outcome.kind,
  }
}

function toRefundBody({ key, amount }: RefundRequest) {
  return { amount: toMajor(amount), comments: key }
}

const Refund = Type.Object({
  id: Identity,
  // Any text: the switch handles unknown values.
  status: Text,
  amount_refunded: Maybe(Type.String({ pattern: DECIMAL })),
  comment: Maybe(Text),
  tx_id: Maybe(Text),
  flw_ref: Maybe(Text),
  meta: Type.Optional(Type.Unknown()),
})
type Refund = Static<typeof Refund>

const readRefund = schemaReader(Refund)
const readRefunds = schemaReader(Type.Array(Refund))
const readDisbursement = schemaReader(Type.Object({ disburse_status: Text }))

/** The response to creating a refund, or to a status check by its id. */
function fromRefund(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromFailedRefund(reply)
  const refund = readRefund(reply.data)
  return refund
    ? fromOurRefund(refund, request)
    : unrecognized('Flutterwave answered a refund that cannot be read')
}

/** A status check by id. An id that is not found proves nothing about the money. */
function fromRefundQuery(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result)
  if (reply.kind !== 'error') return fromRefund(result, request)
  return isNotFound(reply) ? notFound() : fromErrorStatus(reply)
}

/**
 * Our refund among those of the payment. A refund of the same amount without a comment may be ours or the operator's,
 * so it needs manual review.
 */
function fromRefunds(result: HttpResult, request: RefundRequest): RefundOutcome {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return isNotFound(reply) ? notFound() : fromErrorStatus(reply)
  const refunds = readRefunds(reply.data)
  if (!refunds) return unrecognized('Flutterwave answered refunds that cannot be read')
  const ours = refunds.find(({ comment }) => comment === request.key)
  if (ours) return fromOurRefund(ours, request)
  return refunds.some((refund) => mayBeOurs(refund, request))
    ? unrecognized('Flutterwave has a refund of this amount without a comment: see its dashboard')
    : notFound()
}

function mayBeOurs(refund: Refund, request: RefundRequest): boolean {
  const { comment, amount_refunded: given } = refund
  const hasNoComment = comment === undefined || comment === null || comment === ''
  return hasNoComment && given != null && isOfAmount(given, request)
}

/** A refund outcome carries no amount that the caller could compare, so it is compared here. */
function fromOurRefund(refund: Refund, request: RefundRequest): RefundOutcome {
  const { amount_refunded: given } = refund
  return given == null || isOfAmount(given, request)
    ? fromStatus(refund)
    : unrecognized('Flutterwave answered a refund of another amount')
}

function isOfAmount(given: string, { amount }: RefundRequest): boolean {
  return fromMajor(given, amount.currency, amount)?.minor === amount.minor
}

function fromStatus(refund: Refund): RefundOutcome {
  const { id, status } = refund
  switch (status.toLowerCase()) {
    // Deducted from the balance and passed to the bank, which is all that Flutterwave does; the bank then takes days.
    case 'completed':
    case 'completed-bank-transfer':
    case 'completed-momo':
    case 'completed-mpgs':
    case 'completed-offline':
    case 'completed-preauth':
    case 'successful':
      return isDisbursed(refund)
        ? { kind: 'succeeded', gatewayReference: id }
        : { kind: 'failed', message: 'the money did not reach the payer', gatewayReference: id }
    case 'new':
    case 'pending':
    case 'pending-momo':
    case 'processing':
      return { kind: 'pending', gatewayReference: id }
    case 'failed':
    case 'cancelled':
      return { kind: 'failed', message: `the refund at Flutterwave is ${status}`, gatewayReference: id }
    default:
      return unrecognized(`Flutterwave answered a status that we do not know: ${redact(status)}`)
  }
}

/**
 * False if Flutterwave could not pay the money out: the status stays the same, and meta (JSON, or JSON as text) says
 * so.
 */
function isDisbursed({ meta }: Refund): boolean {
  const disbursement = readDisbursement(typeof meta === 'string' ? parseExactJson(meta) : meta)
  return disbursement?.disburse_status.toLowerCase() !== 'failed'
}

function fromFailedRefund(error: ErrorReply): RefundOutcome {
  const { http, providerMessage } = error
  if (providerMessage === null || !isRejection(http) || isAmbiguous(providerMessage))
    return fromErrorStatus(error)
  const message = `Flutterwave answered HTTP ${http}: ${redact(providerMessage)}`
  return { kind: 'failed', message, gatewayReference: null }
}

function isNotFound({ http, providerMessage }: ErrorReply): boolean {
  return http === 404 || (http === 400 && /no (?:refund|transaction)|not found/i.test(providerMessage ?? ''))
}

function fromErrorStatus(error: ErrorReply): RefundOutcome {
  return unknown('no_answer', describeAccessError(error) ?? `Flutterwave answered HTTP ${error.http}`)
}

function notFound(): RefundOutcome {
  return unknown('not_found', 'Flutterwave does not know this refund')
}
