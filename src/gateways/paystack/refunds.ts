// Refunds. Paystack has no idempotency key for refunds, so each carries ours in its note. Every submission first looks
// for that note, so a refund whose response was lost is found and not executed twice.

import { Type } from 'typebox'
import { isCurrency } from '../../core/currency.ts'
import { equals } from '../../core/money.ts'
import { addMs, type Clock } from '../../kit/clock.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Gateway, ProviderRefund, RefundList, RefundOutcome, RefundRequest } from '../gateway.ts'
import { Maybe, unknown, unrecognized } from '../reply.ts'
import { Digits, Text } from './json.ts'
import { fromRefusedQuery, isUnknown, type Reply, readReply, redact } from './response.ts'
import { fromSubunits, toSubunits } from './wire.ts'

export type Call = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<HttpResult>

const DAY_MS = 24 * 3_600_000
// Longer than any response stays lost. The list has no other filter, so it is read with pagination.
const LOOK_BACK_MS = 30 * DAY_MS
const PAGE_SIZE = 100
// Five thousand refunds in a month. With more, a lost refund must be looked up in the dashboard.
const MAX_PAGES = 50

export function createRefundOperations(
  call: Call,
  clock: Clock,
): Required<Pick<Gateway, 'refund' | 'verifyRefund' | 'listRefunds'>> {
  const readPage = async (page: number, period?: { from: Date; to: Date }) => {
    const query = new URLSearchParams({
      perPage: String(PAGE_SIZE),
      page: String(page),
      from: (period?.from ?? addMs(clock.now(), -LOOK_BACK_MS)).toISOString(),
      ...(period && { to: period.to.toISOString() }),
    })
    return readReply(await call('GET', `/refund?${query}`))
  }

  const list = async (period?: { from: Date; to: Date }): Promise<RefundList> => {
    const refunds: ProviderRefund[] = []
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const reply = await readPage(page, period)
      if (isUnknown(reply)) return reply
      const rows = readList(reply)
      if (!rows)
        return reply.kind === 'refused' ? fromRefusedQuery(reply) : unrecognized('Paystack lists no refunds')
      refunds.push(...rows.map(toProviderRefund).filter((refund) => refund !== undefined))
      if (rows.length < PAGE_SIZE) break
    }
    return { kind: 'refunds', refunds }
  }

  const find = async (refund: RefundRequest): Promise<RefundOutcome> => {
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const reply = await readPage(page)
      if (isUnknown(reply)) return reply
      const list = readList(reply)
      if (!list)
        return reply.kind === 'refused' ? fromRefusedQuery(reply) : unrecognized('Paystack lists no refunds')
      const found = list.find((one) => hasKey(one, refund))
      if (found) return fromRefund(found, refund)
      if (list.length < PAGE_SIZE) return unknown('not_found', 'Paystack does not know this refund')
    }
    return unrecognized('Paystack lists more refunds than can be looked through')
  }

  return {
    async refund(refund) {
      const earlier = await find(refund)
      // If the lookup failed, nothing was sent.
      if (earlier.kind === 'unknown' && earlier.reason === 'no_answer')
        return { ...earlier, reason: 'not_sent' }
      if (earlier.kind !== 'unknown' || earlier.reason !== 'not_found') return earlier
      const reply = readReply(await call('POST', '/refund', toRefundBody(refund)))
      if (isUnknown(reply)) return reply
      if (reply.kind === 'data') return fromRefund(reply.data, refund)
      return fromRejectedRefund(reply, () => find(refund))
    },

    async listRefunds(query) {
      if (query.kind === 'period') return list(query)
      // Paystack's list has no documented filter by payment.
      const found = await list()
      if (found.kind === 'unknown') return found
      const names = [query.attemptKey, query.attemptReference]
      const isOfPayment = ({ paymentNames }: ProviderRefund) =>
        paymentNames.some((name) => names.includes(name))
      return { kind: 'refunds', refunds: found.refunds.filter(isOfPayment) }
    },

    async verifyRefund(refund, gatewayReference) {
      if (gatewayReference === null) return find(refund)
      const reply = readReply(await call('GET', `/refund/${encodeURIComponent(gatewayReference)}`))
      if (isUnknown(reply)) return reply
      if (reply.kind === 'data') return fromRefund(reply.data, refund)
      return reply.http === 404 ? unknown('not_found', reply.message) : fromRefusedQuery(reply)
    },
  }
}

function toRefundBody({ attemptKey, amount, key }: RefundRequest) {
  // Without an amount Paystack would refund everything, even if its records and ours differ on how much that is.
  return { transaction: attemptKey, amount: toSubunits(amount), merchant_note: `Refund ${key}` }
}

const readRefunds = schemaReader(Type.Array(Type.Unknown()))

/** Undefined if the list is unreadable; Paystack may report an empty list as not found. */
function readList(reply: Exclude<Reply, { kind: 'unknown' }>): unknown[] | undefined {
  if (reply.kind === 'refused') return reply.http === 404 ? [] : undefined
  return readRefunds(reply.data)
}

const readRefund = schemaReader(
  Type.Object({
    id: Maybe(Digits),
    status: Text(),
    // A number in most responses, sometimes text.
    amount: Maybe(Digits),
    currency: Maybe(Text()),
    merchant_note: Maybe(Text(2_000)),
  }),
)

const readPayment = schemaReader(
  Type.Object({
    // The id of the transaction, or the transaction itself.
    transaction: Maybe(Type.Union([Digits, Type.Object({ id: Maybe(Digits), reference: Maybe(Text()) })])),
    transaction_reference: Maybe(Text()),
  }),
)

const STATUSES: Readonly<Record<string, ProviderRefund['status']>> = {
  pending: 'pending',
  processing: 'pending',
  'needs-attention': 'pending',
  processed: 'succeeded',
  failed: 'failed',
}

/** Our note is "Refund", followed by the key. */
const OUR_NOTE = /^Refund ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

function toProviderRefund(data: unknown): ProviderRefund | undefined {
  const record = readRefund(data)
  const payment = readPayment(data)
  if (!record || record.id == null || !payment) return undefined
  const { transaction, transaction_reference: reference } = payment
  const names = typeof transaction === 'object' ? [transaction?.id, transaction?.reference] : [transaction]
  const { amount, currency } = record
  return {
    reference: record.id,
    key: OUR_NOTE.exec(record.merchant_note ?? '')?.[1] ?? null,
    paymentNames: [...names, reference].filter((name) => name != null),
    amount: amount != null && isCurrency(currency) ? (fromSubunits(amount, currency) ?? null) : null,
    status: STATUSES[record.status] ?? 'unrecognized',
  }
}

function hasKey(data: unknown, { key }: RefundRequest): boolean {
  return readRefund(data)?.merchant_note?.includes(key) ?? false
}

function fromRefund(data: unknown, refund: RefundRequest): RefundOutcome {
  const record = readRefund(data)
  if (!record) return unrecognized('Paystack answered without a refund in it')
  if (!isOfAmount(record, refund)) return unrecognized('Paystack answered a refund of another amount')
  const gatewayReference = record.id ?? null
  switch (record.status) {
    case 'pending':
    case 'processing':
    case 'needs-attention':
      // needs-attention waits for the customer's bank account, which the operator enters at Paystack. The money is set
      // aside, so it has not failed, and another refund would be a second one.
      return { kind: 'pending', gatewayReference }
    case 'processed':
      return { kind: 'succeeded', gatewayReference: gatewayReference ?? refund.key }
    case 'failed':
      return { kind: 'failed', message: 'Paystack could not execute the refund', gatewayReference }
    default:
      return unrecognized(
        `Paystack answered a refund with a status that we do not know: ${redact(record.status)}`,
      )
  }
}

function isOfAmount(
  record: { amount?: string | null; currency?: string | null },
  { amount }: RefundRequest,
): boolean {
  if (record.currency != null && record.currency !== amount.currency) return false
  if (record.amount == null) return true
  const given = fromSubunits(record.amount, amount.currency)
  return given !== undefined && equals(given, amount)
}

/** Nothing was begun, unless everything was already refunded, possibly by this very refund a moment ago. */
async function fromRejectedRefund(
  { http, providerMessage, type, message }: Extract<Reply, { kind: 'refused' }>,
  find: () => Promise<RefundOutcome>,
): Promise<RefundOutcome> {
  if (http === 429 || type === 'api_error') return unknown('no_answer', message)
  const earlier = /revers|refunded/i.test(providerMessage) ? await find() : undefined
  if (earlier && (earlier.kind !== 'unknown' || earlier.reason !== 'not_found')) return earlier
  return { kind: 'failed', message, gatewayReference: null }
}
