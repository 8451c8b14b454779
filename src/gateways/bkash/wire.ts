// Payments of bKash as JSON, and the pure translations between them and the gateway contract. Our key is the invoice number
// of a payment. The payer confirms on a page of bKash, and the money moves when we execute the payment.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../../core/currency.ts'
import type { FailureCode } from '../../core/failures.ts'
import { equals, formatAmount, type Money, readDecimal } from '../../core/money.ts'
import { addMs } from '../../kit/clock.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, Outcome, StartedCheckout, StatusQuery } from '../gateway.ts'
import { declined, Maybe, receipt, refused, type Unknown, unknown, unrecognized } from '../reply.ts'
import { describeError, type ErrorReply, exactReader, PASSING, readReply } from './client.ts'

// Without an agreement: the payer enters wallet number, one-time code and PIN.
const CHECKOUT_MODE = '0011'

// bKash appends its own query to the address. The payer's reference is our key, because bKash takes two payments of one
// payer and one amount within minutes for a duplicate.
export function toPaymentBody({ key, amount }: Attempt, returnUrl: string) {
  return {
    mode: CHECKOUT_MODE,
    payerReference: key,
    callbackURL: returnUrl,
    amount: formatAmount(amount),
    currency: amount.currency,
    intent: 'sale',
    merchantInvoiceNumber: key,
  }
}

const Text = (maxLength: number) => Type.String({ maxLength })
const Identity = Type.String({ pattern: '^[\\x21-\\x7e]{1,255}$' })
const Success = Type.Literal('0000')

const readCreated = exactReader(
  Type.Object({
    statusCode: Success,
    paymentID: Identity,
    bkashURL: Type.String({ maxLength: 4_096, pattern: '^https://' }),
    merchantInvoiceNumber: Maybe(Text(255)),
  }),
)

const Payment = Type.Object({
  statusCode: Success,
  paymentID: Identity,
  // Any text: the switch handles unknown values.
  transactionStatus: Text(50),
  amount: Text(50),
  currency: Text(50),
  // The status query and the execution name it differently.
  merchantInvoice: Maybe(Text(255)),
  merchantInvoiceNumber: Maybe(Text(255)),
  // Whether the payer has entered wallet number, one-time code and PIN; the documentation has both names.
  verificationStatus: Maybe(Text(50)),
  userVerificationStatus: Maybe(Text(50)),
  trxID: Maybe(Text(100)),
  paymentExecuteTime: Maybe(Text(50)),
})
type Payment = Static<typeof Payment>

const readPayment = exactReader(Payment)

/**
 * An error on creation proves that nothing was begun: only we can execute a payment, and without its id it
 * can be neither paid nor executed.
 */
export function fromCreate(result: HttpResult | Unknown, key: string): StartedCheckout | Outcome {
  const reply = readReply(result, readCreated)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromRefusedCreate(reply, result)
  const { paymentID, bkashURL, merchantInvoiceNumber } = reply.body
  if (merchantInvoiceNumber != null && merchantInvoiceNumber !== key)
    return unrecognized('bKash answered about another payment')
  return { kind: 'started', gatewayReference: paymentID, next: { kind: 'redirect', url: bkashURL } }
}

const readPaymentId = exactReader(Type.Object({ paymentID: Identity }))

function fromRefusedCreate(error: ErrorReply, result: HttpResult | Unknown): Outcome {
  const isCreated = result.kind === 'answered' && readPaymentId(result.body) !== undefined
  if (isCreated) return unrecognized('bKash answered a payment with an error')
  const isInside = PASSING.includes(error.code) && error.http === 200
  if (error.http === 409 || isInside) return unknown('no_answer', describeError(error))
  return refused('provider_unavailable', describeError(error))
}

const INVALID_PAYMENT = '2002'
const NOT_FOUND = '2033'

function reasonOf(code: string): Unknown['reason'] {
  if (code === INVALID_PAYMENT || code === NOT_FOUND) return 'not_found'
  return PASSING.includes(code) ? 'no_answer' : 'unrecognized'
}

/** What the status query says about this payment, or why it is unknown. */
function readStatusReply(result: HttpResult | Unknown, paymentId: string): Payment | Unknown {
  const reply = readReply(result, readPayment)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') {
    return unknown(reasonOf(reply.code), describeError(reply))
  }
  if (reply.body.paymentID !== paymentId) return unrecognized('bKash answered about another payment')
  return reply.body
}

export function fromStatus(
  result: HttpResult | Unknown,
  query: StatusQuery,
  paymentId: string,
  now: Date,
): Outcome {
  const payment = readStatusReply(result, paymentId)
  if ('kind' in payment) return payment
  if (payment.transactionStatus !== 'Completed' && (invoiceOf(payment) ?? query.key) !== query.key)
    return unrecognized('bKash answered about another payment')
  switch (payment.transactionStatus) {
    case 'Completed':
      return fromPaid(payment)
    case 'Initiated':
      return fromInitiated(payment, query, now)
    case 'Failed':
      return declined(payment.paymentID, 'unknown', 'bKash reports that the payment failed')
    default:
      return unrecognized('bKash answered a status that we do not know')
  }
}

// A payment can be executed for 24 hours. One more, because our clock is not theirs.
const VALID_MS = 25 * 3_600_000

/** A payer who cancels on the page leaves the payment as it is: it ends with its time. */
function fromInitiated(payment: Payment, query: StatusQuery, now: Date): Outcome {
  const { paymentID: gatewayReference } = payment
  if (now >= addMs(query.startedAt, VALID_MS))
    return declined(gatewayReference, 'customer_timeout', 'the payment was not executed within 24 hours')
  switch (payment.userVerificationStatus ?? payment.verificationStatus) {
    case 'Incomplete':
      return { kind: 'pending', gatewayReference }
    case 'Complete':
      // Our next call would move this amount.
      if (!isOfAmount(payment, query.amount)) return unrecognized('bKash answered another amount')
      return { kind: 'pending', gatewayReference, canComplete: true }
    default:
      return unrecognized('bKash does not say whether the payer has confirmed')
  }
}

const amountOf = ({ amount, currency }: Payment): Money | undefined =>
  isCurrency(currency) ? readDecimal(amount, currency) : undefined

function isOfAmount(payment: Payment, expected: Money): boolean {
  const amount = amountOf(payment)
  return amount !== undefined && amount.currency === expected.currency && equals(amount, expected)
}

const invoiceOf = ({ merchantInvoiceNumber, merchantInvoice }: Payment) =>
  merchantInvoiceNumber ?? merchantInvoice

function fromPaid(payment: Payment): Outcome {
  const paid = amountOf(payment)
  if (!paid || paid.minor <= 0n) return unrecognized('bKash answered an amount that cannot be read')
  // It proves that money moved, and refunds need it.
  if (!payment.trxID) return unrecognized('bKash answered a completed payment without a transaction')
  return {
    kind: 'succeeded',
    gatewayReference: payment.paymentID,
    ...receipt(payment.trxID),
    paid,
    key: invoiceOf(payment) ?? '',
    savedMethod: null,
    paidAt: readBkashTime(payment.paymentExecuteTime) ?? null,
  }
}

/** Such as 2019-08-06T12:22:41:428 GMT+0600. */
export function readBkashTime(text: string | null | undefined): Date | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?::(\d{3}))? ?GMT([+-]\d\d):?(\d\d)$/.exec(text ?? '')
  if (!match) return undefined
  const [, seconds = '', millis = '000', hours = '', minutes = ''] = match
  const time = new Date(`${seconds}.${millis}${hours}:${minutes}`)
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** The codes with which an execution fails for good. All others mean: ask. */
const DECLINES: Readonly<Record<string, FailureCode>> = {
  '2006': 'provider_unavailable',
  '2007': 'provider_unavailable',
  '2008': 'provider_unavailable',
  '2009': 'wallet_not_found',
  '2014': 'authentication_failed',
  '2015': 'authentication_failed',
  '2023': 'insufficient_funds',
  '2037': 'do_not_honor',
  '2038': 'do_not_honor',
  // The merchant's account, not the payer's.
  '2039': 'provider_unavailable',
  '2040': 'provider_unavailable',
  '2041': 'provider_unavailable',
  '2045': 'wallet_not_found',
  '2057': 'wallet_not_found',
  '2058': 'wallet_not_found',
}

/**
 * A payment is executed once, so nothing here allows a second execution. An error that says that the payment was executed
 * before, and any error that is not a decline, is unknown: the status query says what happened.
 */
export function fromExecute(result: HttpResult | Unknown, paymentId: string): Outcome {
  const reply = readReply(result, readPayment)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') {
    const code = Object.hasOwn(DECLINES, reply.code) ? DECLINES[reply.code] : undefined
    return code ? declined(paymentId, code, describeError(reply)) : unknown('no_answer', describeError(reply))
  }
  if (reply.body.paymentID !== paymentId) return unrecognized('bKash answered about another payment')
  if (reply.body.transactionStatus === 'Completed') return fromPaid(reply.body)
  return unknown('no_answer', 'bKash has not completed the payment')
}

/**
 * A decline counts only if the status query does not say otherwise: public copies of the table of codes number some of
 * them differently.
 */
export function confirmDecline(decline: Outcome, status: Outcome): Outcome {
  if (status.kind === 'succeeded') return status
  // Whatever the reason: the execution was sent.
  return status.kind === 'unknown' ? { ...status, reason: 'no_answer' } : decline
}
