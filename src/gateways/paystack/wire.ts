// Paystack's JSON, and the pure translations between it and the gateway contract. Amounts are hundredths in every
// currency, even in XOF, which has no decimals.

import { Type } from 'typebox'
import { type Currency, decimalsOf, isCurrency } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'
import { addMs } from '../../kit/clock.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { Attempt, CheckoutChoice, Outcome, StartedCheckout, StatusQuery } from '../gateway.ts'
import { declined, Maybe, readTime, receipt, refused, reportedFee, unknown, unrecognized } from '../reply.ts'
import { findFailureCode, toFailureCode } from './declines.ts'
import { Digits, Text } from './json.ts'
import { toChannels } from './rails.ts'
import { type ErrorReply, fromRefusedQuery, isUnknown, type Reply, redact } from './response.ts'
import { Credential, toSavedMethod } from './saved-method.ts'

const SUBUNITS = 100n

/** A whole JSON number, which holds every amount that our API accepts exactly. */
export function toSubunits({ minor, currency }: Money): number {
  const subunits = Number(decimalsOf(currency) === 0 ? minor * SUBUNITS : minor)
  if (!Number.isSafeInteger(subunits)) throw new Error('an amount is larger than the API accepts')
  return subunits
}

/** Undefined if it has more decimals than the currency, which is a wrong amount and must not be rounded. */
export function fromSubunits(digits: string, currency: Currency): Money | undefined {
  const subunits = BigInt(digits)
  if (decimalsOf(currency) === 2) return money(subunits, currency)
  return subunits % SUBUNITS === 0n ? money(subunits / SUBUNITS, currency) : undefined
}

export function toInitializeBody(attempt: Attempt, choice: CheckoutChoice, returnUrl: string) {
  const channels = toChannels(attempt.amount.currency, choice.channel)
  return {
    email: attempt.customer.email,
    ...toRequest(attempt),
    callback_url: returnUrl,
    ...(channels && { channels }),
    metadata: { cancel_action: returnUrl, ...toMetadata(attempt) },
  }
}

/** Undefined if the credential was not saved by fromTransaction. */
export function toChargeBody(attempt: Attempt, credential: string) {
  const saved = Credential.read(credential)
  if (!saved) return undefined
  return {
    // Only the e-mail of the first payment may charge an authorization, even if the customer's has changed.
    email: saved.email,
    ...toRequest(attempt),
    authorization_code: saved.authorization_code,
    // An object in initialize, but text in a charge.
    metadata: JSON.stringify(toMetadata(attempt)),
  }
}

export function toRequest({ amount, key }: Attempt) {
  // A UUID has only letters, digits and hyphens; Paystack refuses underscores in a reference.
  return { amount: toSubunits(amount), currency: amount.currency, reference: key }
}

/** Shown beside the payment in Paystack's dashboard. */
export function toMetadata({ reference, paymentId }: Attempt) {
  return {
    custom_fields: [
      { display_name: 'Reference', variable_name: 'reference', value: reference },
      { display_name: 'Payment', variable_name: 'payment', value: paymentId },
    ],
  }
}

const readPage = schemaReader(
  Type.Object({
    authorization_url: Type.String({ pattern: '^https?://', maxLength: 2_048 }),
    reference: Text(),
  }),
)

export function fromInitialize(reply: Reply, key: string): StartedCheckout | Outcome {
  if (isUnknown(reply)) return reply
  if (reply.kind === 'refused') return fromErrorReply(reply)
  const page = readPage(reply.data)
  if (page?.reference !== key) return unrecognized('Paystack answered no page for this payment')
  return {
    kind: 'started',
    gatewayReference: page.reference,
    next: { kind: 'redirect', url: page.authorization_url },
  }
}

/** Paystack refused the request, so nothing was begun; a decline by the processor is the bank's decision. */
export function fromErrorReply({ providerMessage, type, message }: ErrorReply): Outcome {
  switch (type) {
    case 'processor_error':
      return declined(null, toFailureCode(null, providerMessage), message)
    case 'api_error':
      // An error of Paystack itself, with any status: it may have acted before.
      return unknown('no_answer', message)
    default:
      // A saved card that cannot be charged is a decline; all else is between the operator and Paystack.
      return refused(isUnusableCard(providerMessage) ? 'invalid_card' : 'provider_unavailable', message)
  }
}

function isUnusableCard(message: string): boolean {
  return findFailureCode(message) === 'invalid_card'
}

const readPause = schemaReader(Type.Object({ paused: Type.Literal(true) }))

export function fromCharge(reply: Reply, attempt: Attempt, now: Date): Outcome {
  if (isUnknown(reply)) return reply
  // No other gateway can charge this card, so a rate limit is not final: the same request is retried later.
  if (reply.kind === 'refused')
    return reply.http === 429 ? unknown('no_answer', reply.message) : fromErrorReply(reply)
  if (readPause(reply.data)) return authenticationRequired(null)
  return fromTransaction(reply.data, attempt, now)
}

/** A rejected status check says nothing about the payment, unless it says that there is none. */
export function fromVerify(reply: Reply, query: StatusQuery, now: Date): Outcome {
  if (isUnknown(reply)) return reply
  if (reply.kind === 'refused')
    return isNotFound(reply) ? unknown('not_found', reply.message) : fromRefusedQuery(reply)
  return fromTransaction(reply.data, query, now)
}

/** Paystack has taken the money of the payment back: by a refund or for a dispute. */
export function isReversed(reply: Reply): boolean {
  return reply.kind === 'data' && readTransaction(reply.data)?.status === 'reversed'
}

/** 404 or 400; other reasons for 400, such as a wrong key, do not mention a reference. */
function isNotFound({ http, providerMessage }: ErrorReply): boolean {
  return http === 404 || (http === 400 && /reference|not found/i.test(providerMessage))
}

const Transaction = Type.Object({
  id: Maybe(Digits),
  // Any text: the switch handles unknown values.
  status: Text(),
  reference: Text(),
  amount: Maybe(Digits),
  currency: Maybe(Text()),
  gateway_response: Maybe(Text(2_000)),
  gateway_response_code: Maybe(Text()),
  response_code: Maybe(Text()),
  message: Maybe(Text(2_000)),
  // A number or text: the M-Pesa code of mobile money.
  receipt_number: Maybe(Text()),
  // Not only digits: an unreadable fee must not hide that the payment succeeded.
  fees: Type.Optional(Type.Unknown()),
  paid_at: Maybe(Text()),
  transaction_date: Maybe(Text()),
  // An unreadable card must not hide that the payment succeeded.
  authorization: Type.Optional(Type.Unknown()),
  customer: Type.Optional(Type.Unknown()),
})
type Transaction = Type.Static<typeof Transaction>

const readTransaction = schemaReader(Transaction)
const readDigits = schemaReader(Digits)

type QueryContext = Pick<StatusQuery, 'key' | 'operation' | 'startedAt' | 'expiresAt' | 'isPaid' | 'phone'>

export function fromTransaction(data: unknown, about: QueryContext, now: Date): Outcome {
  const record = readTransaction(data)
  if (!record) return unrecognized('Paystack answered without a payment in it')
  const gatewayReference = record.id ?? record.reference
  // A payment that we know as paid stays paid when it is reversed; refunds and disputes explain the reversal.
  const isPaid = record.status === 'success' || (about.isPaid === true && record.status === 'reversed')
  if (isPaid) return fromSuccess(record, about)
  // The caller checks a success for another payment; any other status of another payment says nothing about this one.
  if (record.reference !== about.key) return unrecognized('Paystack answered about another payment')
  switch (record.status) {
    case 'failed':
      return { kind: 'declined', ...reasonOf(record), gatewayReference }
    case 'reversed':
      // Refunded or charged back before we saw the payment: there is nothing to credit.
      return {
        kind: 'declined',
        code: 'unknown',
        message: 'Paystack has reversed the payment: refunded or charged back',
        gatewayReference,
      }
    case 'abandoned':
      if (hasPayerLeft(about, now))
        return declined(gatewayReference, 'customer_timeout', 'the page of Paystack was left unpaid')
      return isUnattended(about, now)
        ? authenticationRequired(gatewayReference)
        : { kind: 'pending', gatewayReference }
    case 'timeout':
      return declined(gatewayReference, 'customer_timeout', 'the payer did not act in time')
    case 'send_otp':
    case 'send_pin':
    case 'send_phone':
    case 'send_birthday':
    case 'send_address':
      // Only our page could ask for it, and never does. On Paystack's own page the payer may be entering it.
      if (about.phone !== undefined)
        return declined(
          gatewayReference,
          'provider_unavailable',
          'Paystack asks for a code that we cannot ask for',
        )
      return isUnattended(about, now)
        ? authenticationRequired(gatewayReference)
        : { kind: 'pending', gatewayReference }
    case 'ongoing':
      return isUnattended(about, now)
        ? authenticationRequired(gatewayReference)
        : { kind: 'pending', gatewayReference }
    case 'pending':
    case 'processing':
    case 'queued':
    // The states of a charge from our page.
    case 'pay_offline':
    case 'open_url':
    case 'pending_bank_transfer':
      return { kind: 'pending', gatewayReference }
    default:
      return unrecognized(`Paystack answered a status that we do not know: ${redact(record.status)}`)
  }
}

// Far longer than any charge takes, so a charge that is still pending then needs the payer.
const UNATTENDED_MS = 3_600_000

// A payer who has the page still open may pay a little later than our checkout allows.
const LATE_PAYER_MS = 6 * 3_600_000

/**
 * Whether an abandoned payment has ended: a one-time code or a transfer in progress is `ongoing`, not `abandoned`, so long
 * after our checkout has expired no payer is acting. Paystack reports a later payment by webhook.
 */
function hasPayerLeft({ operation, expiresAt }: QueryContext, now: Date): boolean {
  return operation === 'checkout' && expiresAt !== null && addMs(expiresAt, LATE_PAYER_MS) <= now
}

/**
 * Paystack waits for a customer who was never redirected, because the response with the redirect was lost. A checkout's
 * payer may still come, so it stays pending.
 */
function isUnattended({ operation, startedAt }: QueryContext, now: Date): boolean {
  return operation === 'charge' && now.getTime() - startedAt.getTime() > UNATTENDED_MS
}

function authenticationRequired(gatewayReference: string | null): Outcome {
  return {
    kind: 'declined',
    code: 'authentication_required',
    message: 'The bank wants the customer to approve this charge',
    gatewayReference,
  }
}

function reasonOf(record: Transaction) {
  const { response_code, gateway_response_code, gateway_response, message } = record
  return {
    code: toFailureCode(response_code, gateway_response_code, gateway_response, message),
    message: redact(gateway_response || message || gateway_response_code || 'failed'),
  }
}

/** Undefined if Paystack does not say it, or not in whole minor units. */
function feeOf({ fees }: Transaction, currency: Currency): Money | undefined {
  const digits = readDigits(fees)
  return digits === undefined ? undefined : fromSubunits(digits, currency)
}

function fromSuccess(record: Transaction, { operation }: QueryContext): Outcome {
  const { amount, currency } = record
  if (amount == null || !isCurrency(currency))
    return unrecognized('Paystack answered a success without an amount or in a currency that we do not know')
  const paid = fromSubunits(amount, currency)
  if (!paid) return unrecognized(`Paystack answered an amount that is not whole in ${currency}`)
  return {
    kind: 'succeeded',
    gatewayReference: record.id ?? record.reference,
    ...receipt(record.receipt_number),
    paid,
    ...reportedFee(feeOf(record, currency), paid),
    key: record.reference,
    // A charge uses a card that is already saved.
    savedMethod:
      operation === 'checkout' ? toSavedMethod(record.authorization, record.customer, currency) : null,
    paidAt: readTime(record.paid_at) ?? readTime(record.transaction_date) ?? null,
  }
}
