// Payments as JSON, and the pure translations between them and the gateway contract. Our key is the tx_ref of a payment,
// which is unique for good. Amounts are decimal text in major units.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../../core/currency.ts'
import type { Mode } from '../../core/merchant.ts'
import { formatAmount, readDecimal } from '../../core/money.ts'
import { addMs } from '../../kit/clock.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, Outcome, StartedCheckout, StatusQuery } from '../gateway.ts'
import { declined, Maybe, readTime, receipt, refused, type Unknown, unknown, unrecognized } from '../reply.ts'
import { Decimal, describeError, type ErrorReply, Identity, readReply, Text } from './response.ts'

const MAX_TITLE = 16
const MAX_DESCRIPTION = 50

export function toPaymentBody(
  { key, amount, customer, merchantName, ...attempt }: Attempt,
  returnUrl: string,
) {
  const title = toPlain(merchantName, MAX_TITLE)
  const description =
    toPlain(attempt.description ?? '', MAX_DESCRIPTION) || toPlain(attempt.reference, MAX_DESCRIPTION)
  return {
    amount: formatAmount(amount),
    currency: amount.currency,
    ...(customer.email && { email: customer.email }),
    first_name: customer.firstname,
    last_name: customer.lastname,
    tx_ref: key,
    return_url: returnUrl,
    customization: { ...(title && { title }), ...(description && { description }) },
  }
}

/** Chapa refuses a payment whose texts have other characters than these. */
function toPlain(text: string, maxLength: number): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_. -]+/g, ' ')
    .replace(/ {2,}/g, ' ')
    .trim()
    .slice(0, maxLength)
    .trim()
}

const readPage = schemaReader(
  Type.Object({ checkout_url: Type.String({ maxLength: 2_048, pattern: '^https?://' }) }),
)

/** Chapa has this reference already and did nothing; a status check returns its outcome. */
export interface DuplicateReference {
  kind: 'duplicate'
}

export function fromStart(result: HttpResult, key: string): StartedCheckout | Outcome | DuplicateReference {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromRefusedStart(reply)
  const page = reply.status === 'success' ? readPage(reply.data) : undefined
  if (!page || !URL.canParse(page.checkout_url)) return unrecognized('Chapa answered without a page')
  return { kind: 'started', gatewayReference: key, next: { kind: 'redirect', url: page.checkout_url } }
}

const DUPLICATE = /reference has been used/i

// Statuses that prove that no payment was made; 404 is an account that may not use the API. Not 409: a request with the
// same key may be in progress.
const REJECTIONS: readonly number[] = [400, 401, 403, 404, 422, 429]

function fromRefusedStart(error: ErrorReply): Outcome | DuplicateReference {
  if (DUPLICATE.test(error.words)) return { kind: 'duplicate' }
  return REJECTIONS.includes(error.http)
    ? refused('provider_unavailable', describeError(error))
    : unrecognized(describeError(error))
}

const Payment = Type.Object({
  // Any text: the switch handles unknown values.
  status: Text,
  amount: Decimal,
  currency: Text,
  tx_ref: Maybe(Text),
  reference: Maybe(Identity),
  mode: Maybe(Text),
  created_at: Maybe(Text),
  updated_at: Maybe(Text),
})
export type Payment = Static<typeof Payment>

const readPayment = schemaReader(Payment)

/** The payment of a status check, or why there is none. */
export function fromQuery(result: HttpResult): Payment | ErrorReply | Unknown {
  const reply = readReply(result)
  if (reply.kind !== 'data') return reply
  return readPayment(reply.data) ?? unrecognized('Chapa answered a payment that cannot be read')
}

export function isPayment(value: Payment | ErrorReply | Unknown): value is Payment {
  return 'currency' in value
}

type Query = Pick<StatusQuery, 'key' | 'expiresAt'>

export function fromVerify(result: HttpResult, query: Query, mode: Mode, now: Date): Outcome {
  const found = fromQuery(result)
  if (isPayment(found)) return fromPayment(found, query.key, mode)
  return found.kind === 'error' ? fromNoPayment(found, query, now) : found
}

// A payer who has the page still open may pay later than our checkout allows.
const LATE_PAYER_MS = 24 * 3_600_000

/** A page that the payer has not paid is an error; an error about access says nothing about the payment. */
function fromNoPayment(error: ErrorReply, { key, expiresAt }: Query, now: Date): Outcome {
  if (error.http === 404 && /not paid yet/i.test(error.words)) {
    // Chapa's page does not end with our checkout: a later payment is reported by webhook.
    const hasPayerLeft = expiresAt !== null && addMs(expiresAt, LATE_PAYER_MS) <= now
    return hasPayerLeft
      ? declined(key, 'customer_timeout', 'the page of Chapa was left unpaid')
      : { kind: 'pending', gatewayReference: key }
  }
  if (error.http === 404 && /not found|invalid transaction/i.test(error.words))
    return unknown('not_found', 'Chapa does not know this reference')
  return unknown(error.http === 404 ? 'unrecognized' : 'no_answer', describeError(error))
}

function fromPayment(payment: Payment, key: string, mode: Mode): Outcome {
  const { status, tx_ref: reference, mode: given } = payment
  if (given != null && given.toLowerCase() !== mode)
    return unrecognized('Chapa answered about the other mode')
  const isPaid = status === 'success' || status === 'refunded'
  // A record about another payment says nothing about this one; a success is compared by our caller.
  if (!isPaid && reference !== key) return unrecognized('Chapa answered about another payment')
  switch (status) {
    // A refunded payment was paid; what was refunded is known from the refunds.
    case 'success':
    case 'refunded':
      return fromPaid(payment, key)
    case 'pending':
      return { kind: 'pending', gatewayReference: key }
    case 'cancelled':
      return declined(key, 'customer_cancelled', 'the payer cancelled the payment')
    // Chapa does not say why.
    case 'failed':
    case 'failed/cancelled':
      return declined(key, 'do_not_honor', `the payment at Chapa is ${status}`)
    // `reversed` may mean that the money went back to the payer, or that a refund failed: a person must look.
    default:
      return unrecognized('Chapa answered a status that we do not know')
  }
}

function fromPaid(payment: Payment, key: string): Outcome {
  const { amount, currency, reference, tx_ref: reportedKey } = payment
  const paid = isCurrency(currency) ? readDecimal(amount, currency) : undefined
  if (!paid || paid.minor <= 0n) return unrecognized('Chapa answered an amount that cannot be read')
  return {
    kind: 'succeeded',
    gatewayReference: reference ?? key,
    ...receipt(reference),
    paid,
    key: reportedKey ?? '',
    savedMethod: null,
    paidAt: readTime(payment.updated_at) ?? readTime(payment.created_at) ?? null,
  }
}
