// Flutterwave's JSON of payments, and the pure translations between it and the gateway contract.

import { type Static, Type } from 'typebox'
import type { Currency } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'
import { addMs } from '../../kit/clock.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type {
  Attempt,
  CheckoutChoice,
  Outcome,
  ParsedWebhook,
  StartedCheckout,
  StatusQuery,
} from '../gateway.ts'
import {
  type Declined,
  declined,
  Maybe,
  readTime,
  receipt,
  refused,
  reportedFee,
  unknown,
  unrecognized,
} from '../reply.ts'
import { DECIMAL, fromMajor, toExactMinor, toMajor } from './amounts.ts'
import {
  findFailureCode,
  findIssuerDecline,
  isAmbiguous,
  isDuplicate,
  isValidation,
  redact,
} from './declines.ts'
import { fallbackCountry, toPaymentOptions } from './rails.ts'
import { describeAccessError, type ErrorReply, Identity, isRejection, readReply, Text } from './response.ts'
import { type Credential, toSavedMethod } from './saved-method.ts'

const MINUTE_MS = 60_000
const MAX_SESSION_MINUTES = 1_440

export function toPaymentBody(attempt: Attempt, choice: CheckoutChoice, returnUrl: string, now: Date) {
  const { key, amount, customer, merchantName, description, reference, paymentId, country } = attempt
  const limits = toLimits(attempt.expiresAt, now)
  return {
    tx_ref: key,
    amount: toMajor(amount),
    currency: amount.currency,
    // Flutterwave redirects the payer here after paying and after cancelling.
    redirect_url: returnUrl,
    payment_options: toPaymentOptions(amount.currency, choice.channel),
    customer: { email: customer.email, name: `${customer.firstname} ${customer.lastname}`.trim() },
    customizations: { title: merchantName, ...(description !== null && { description }) },
    // For Flutterwave's dashboard.
    meta: { payment: paymentId, reference, ...(country !== null && { country }) },
    ...limits,
    // Flutterwave documents the limits at the top, and its integrations send them here. It ignores unknown fields.
    configurations: limits,
  }
}

/** How long Flutterwave's page can be paid, and how often. */
function toLimits(expiresAt: Date | null, now: Date) {
  return {
    ...(expiresAt && { session_duration: toMinutes(now, expiresAt) }),
    // The payer retries on our page, so allow the fewest retries that the field supports.
    max_retry_attempt: 1,
  }
}

/** Their page expires with our checkout, to the precision of whole minutes. */
function toMinutes(now: Date, expiresAt: Date): number {
  const minutes = Math.ceil((expiresAt.getTime() - now.getTime()) / MINUTE_MS)
  return Math.min(Math.max(minutes, 1), MAX_SESSION_MINUTES)
}

export interface ChargeContext {
  /** The country of the merchant's account; undefined if it is not configured. */
  merchantCountry: string | undefined
  /** Required because a charge may be challenged, although no payer is present to follow it. */
  redirectUrl: string
}

export function toChargeBody(
  attempt: Attempt,
  credential: Credential,
  { merchantCountry, redirectUrl }: ChargeContext,
) {
  const { key, amount, customer, description, reference } = attempt
  return {
    token: credential.token,
    email: credential.email,
    currency: amount.currency,
    // The merchant's, not that of the card.
    country: merchantCountry ?? fallbackCountry(amount.currency),
    amount: toMajor(amount),
    tx_ref: key,
    narration: description ?? reference,
    first_name: customer.firstname,
    last_name: customer.lastname,
    redirect_url: redirectUrl,
  }
}

// Only the fields that decide the outcome are required. The rest is parsed separately: a new kind of card must not make
// a payment unreadable.
const Transaction = Type.Object({
  id: Type.String({ pattern: '^[1-9][0-9]{0,18}$' }),
  tx_ref: Identity,
  flw_ref: Maybe(Text),
  // Any text: the switch handles unknown values.
  status: Text,
  amount: Type.String({ pattern: DECIMAL }),
  currency: Text,
  processor_response: Maybe(Text),
  // Not only decimals: an unreadable fee must not hide that the payment succeeded.
  charged_amount: Type.Optional(Type.Unknown()),
  app_fee: Type.Optional(Type.Unknown()),
  created_at: Maybe(Text),
  meta: Type.Optional(Type.Unknown()),
  customer: Type.Optional(Type.Unknown()),
  card: Type.Optional(Type.Unknown()),
})
type Transaction = Static<typeof Transaction>

const readTransaction = schemaReader(Transaction)
const readNumber = schemaReader(Type.String({ pattern: DECIMAL }))

function readExact(value: unknown, currency: Currency): bigint | undefined {
  const text = readNumber(value)
  return text === undefined ? undefined : toExactMinor(text, currency)
}
const readLink = schemaReader(Type.Object({ link: Type.String({ maxLength: 2_048, pattern: '^https?://' }) }))
const readChallenge = schemaReader(Type.Object({ authorization: Type.Object({ redirect: Identity }) }))

/** Flutterwave has this key from an earlier request; only its record has the outcome. */
export interface DuplicateReference {
  kind: 'duplicate'
}

export function fromStart(result: HttpResult, key: string): StartedCheckout | Outcome | DuplicateReference {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromRejectedStart(reply)
  const link = readLink(reply.data)?.link
  if (link === undefined) return unrecognized('Flutterwave answered no link to its page')
  // Flutterwave has no id for an unused page yet, so our key is its reference.
  return { kind: 'started', gatewayReference: key, next: { kind: 'redirect', url: link } }
}

/** Opening a page takes no money, so any error means that nothing was begun. */
function fromRejectedStart(error: ErrorReply): Outcome | DuplicateReference {
  const accessError = fromAccessError(error)
  if (accessError) return accessError
  const { providerMessage } = error
  if (providerMessage === null || !isRejection(error.http)) return fromUnexpectedError(error)
  return isDuplicate(providerMessage)
    ? { kind: 'duplicate' }
    : refused('provider_unavailable', describe(error))
}

export function fromCharge(result: HttpResult, attempt: Attempt, now: Date): Outcome | DuplicateReference {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  const transaction = readTransaction(reply.data)
  if (transaction) return fromTransaction(transaction, attempt, now)
  if (reply.kind === 'error') return fromFailedCharge(reply)
  return unrecognized('Flutterwave answered a charge that cannot be read')
}

/** Statuses that prove that nothing was begun. Not 400, which Flutterwave uses for nearly everything. */
const REJECTION_STATUSES: readonly number[] = [404, 405, 422]

/**
 * An error without a record has only a message. We trust a bank's decline and a validation error; for any other message
 * the card may have been charged, and only a status check tells.
 */
function fromFailedCharge(error: ErrorReply): Outcome | DuplicateReference {
  const accessError = fromAccessError(error)
  // No other gateway can charge this card, so a rate limit is not final: the same request is retried later.
  if (accessError) return error.http === 429 ? unknown('no_answer', accessError.message) : accessError
  return fromFailedMessage(error)
}

/** The same for a charge from our page, which another gateway can take over. */
export function fromFailedDirect(error: ErrorReply): Outcome | DuplicateReference {
  const outcome = fromAccessError(error) ?? fromFailedMessage(error)
  const isAboutPhone = /phone|msisdn|mobile number/i.test(error.providerMessage ?? '')
  return 'refused' in outcome && isAboutPhone ? { ...outcome, code: 'wallet_not_found' } : outcome
}

function fromFailedMessage(error: ErrorReply): Outcome | DuplicateReference {
  const { providerMessage } = error
  if (providerMessage === null || !isRejection(error.http)) return fromUnexpectedError(error)
  if (isDuplicate(providerMessage)) return { kind: 'duplicate' }
  const message = describe(error)
  if (isAmbiguous(providerMessage)) return unknown('no_answer', message)
  const code = findIssuerDecline(providerMessage)
  if (code) return declined(null, code, message)
  const isRefused = REJECTION_STATUSES.includes(error.http) || isValidation(providerMessage)
  return isRefused ? refused('provider_unavailable', message) : unknown('no_answer', message)
}

function fromAccessError(error: ErrorReply): Declined | undefined {
  const message = describeAccessError(error)
  return message === undefined ? undefined : refused('provider_unavailable', message)
}

function fromUnexpectedError({ http, providerMessage }: ErrorReply): Outcome {
  const message = `Flutterwave answered HTTP ${http}`
  if (http === 408 || http === 409) return unknown('no_answer', message)
  return unknown(providerMessage === null ? 'unreadable' : 'unrecognized', message)
}

function describe({ http, providerMessage }: ErrorReply): string {
  return `Flutterwave answered HTTP ${http}: ${redact(providerMessage ?? '')}`
}

export function fromVerify(result: HttpResult, query: StatusQuery, now: Date): Outcome {
  const reply = readReply(result)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromQueryError(reply, query, now)
  const transaction = readTransaction(reply.data)
  return transaction
    ? fromTransaction(transaction, query, now)
    : unrecognized('Flutterwave answered a payment that cannot be read')
}

/** A rejected status check says nothing about the payment, which may have been paid. */
function fromQueryError(error: ErrorReply, query: StatusQuery, now: Date): Outcome {
  const { http, providerMessage } = error
  const accessError = describeAccessError(error)
  if (accessError) return unknown('no_answer', accessError)
  const isNotFound =
    providerMessage !== null && (http === 404 || /no transaction|not found/i.test(providerMessage))
  return isNotFound && isRejection(http) ? fromNoTransaction(query, now) : fromUnexpectedError(error)
}

// This long after our checkout (and their page) has expired, no payment can appear any more.
const PAGE_MARGIN_MS = 60 * MINUTE_MS

/**
 * Flutterwave knows a reference only once the payer tries to pay. A checkout without a transaction is not paid yet, or
 * its page URL was lost; a charge without one has not arrived (yet).
 */
function fromNoTransaction({ operation, expiresAt, key }: StatusQuery, now: Date): Outcome {
  if (operation === 'charge') return unknown('not_found', 'Flutterwave does not know this reference')
  const isOver = expiresAt !== null && addMs(expiresAt, PAGE_MARGIN_MS) <= now
  return isOver
    ? declined(key, 'customer_timeout', 'the page of Flutterwave expired unpaid')
    : { kind: 'pending', gatewayReference: key }
}

/** The outcome of the payment in a response; undefined if there is none. */
export function fromTransactionData(data: unknown, query: StatusQuery, now: Date): Outcome | undefined {
  const transaction = readTransaction(data)
  return transaction && fromTransaction(transaction, query, now)
}

function fromTransaction(transaction: Transaction, query: StatusQuery, now: Date): Outcome {
  const { id, processor_response: response, meta } = transaction
  const status = transaction.status.toLowerCase()
  if (status === 'successful') return fromSuccess(transaction, query, now)
  // The caller checks a success for another payment; any other status of another payment says nothing about this one.
  if (transaction.tx_ref !== query.key) return unrecognized('Flutterwave answered about another payment')
  switch (status) {
    case 'pending':
    case 'pending auth':
    case 'success-pending-validation':
      // A charge has no payer present, and the challenge URL was given to no one.
      return query.operation === 'charge' && (readChallenge(meta) || isUnattended(query, now))
        ? declined(id, 'authentication_required', 'the bank wants the customer to approve this payment')
        : { kind: 'pending', gatewayReference: id }
    case 'failed':
      return declined(id, findFailureCode(response) ?? 'unknown', redact(response || 'failed'))
    case 'cancelled':
      return declined(id, 'customer_cancelled', redact(response || 'cancelled'))
    default:
      return unrecognized(`Flutterwave answered a status that we do not know: ${redact(status)}`)
  }
}

// Far longer than any charge takes, so a charge that is still pending then needs the payer.
const UNATTENDED_MS = 60 * MINUTE_MS

/** The response with the challenge was lost, and the record does not repeat its URL. */
function isUnattended({ startedAt }: StatusQuery, now: Date): boolean {
  return now.getTime() - startedAt.getTime() > UNATTENDED_MS
}

/**
 * The part of Flutterwave's fee that the merchant bears: the payer has paid the rest on top of the amount. Undefined if
 * Flutterwave does not say it in whole minor units.
 */
function feeOf({ app_fee: fee, charged_amount: charged }: Transaction, paid: Money): Money | undefined {
  const { currency } = paid
  const feeMinor = readExact(fee, currency)
  const chargedMinor = charged == null ? paid.minor : readExact(charged, currency)
  if (feeMinor === undefined || chargedMinor === undefined) return undefined
  const onTopMinor = chargedMinor > paid.minor ? chargedMinor - paid.minor : 0n
  return money(feeMinor > onTopMinor ? feeMinor - onTopMinor : 0n, currency)
}

function fromSuccess(transaction: Transaction, query: StatusQuery, now: Date): Outcome {
  // Not charged_amount, which includes the fee if the payer bears it.
  const paid = fromMajor(transaction.amount, transaction.currency, query.amount)
  if (!paid)
    return unrecognized('Flutterwave answered a success with an unknown currency or an invalid amount')
  const paidAt = readTime(transaction.created_at) ?? null
  return {
    kind: 'succeeded',
    gatewayReference: transaction.id,
    ...receipt(transaction.flw_ref),
    paid,
    ...reportedFee(feeOf(transaction, paid), paid),
    key: transaction.tx_ref,
    // A charge uses a card that is already saved.
    savedMethod: query.operation === 'checkout' ? toSavedMethod(transaction, paidAt ?? now) : null,
    paidAt,
  }
}

const readPaymentWebhook = schemaReader(
  Type.Object({
    event: Text,
    data: Type.Object({ id: Identity, tx_ref: Identity, status: Maybe(Text) }),
  }),
)
const readChargebackWebhook = schemaReader(
  Type.Object({ data: Type.Object({ id: Maybe(Identity), flw_ref: Identity, status: Maybe(Text) }) }),
)
const readEvent = schemaReader(Type.Object({ event: Text }))
// Sent only if Flutterwave's support has enabled them. They name the payment only by Flutterwave's reference.
const CHARGEBACKS = 'chargeback.'

/**
 * Which payment a verified webhook is about. Flutterwave also reports failures, and the same id first as pending and
 * then as paid.
 */
export function fromWebhookBody(rawBody: Buffer): ParsedWebhook {
  const body = parseExactJson(rawBody.toString())
  const event = readEvent(body)?.event
  if (event?.startsWith(CHARGEBACKS)) return fromChargebackWebhook(event, body)
  if (event !== 'charge.completed')
    return { kind: 'ignored', reason: `not a payment: ${redact(event ?? 'no event')}` }
  const webhook = readPaymentWebhook(body)
  if (!webhook) return { kind: 'ignored', reason: 'a payment that cannot be read' }
  const { id, tx_ref: key, status } = webhook.data
  return { kind: 'payment', key, eventId: `${event}/${id}/${status ?? ''}` }
}

function fromChargebackWebhook(event: string, body: unknown): ParsedWebhook {
  const webhook = readChargebackWebhook(body)
  if (!webhook) return { kind: 'ignored', reason: 'a chargeback that cannot be read' }
  const { id, flw_ref: gatewayPaymentId, status } = webhook.data
  return { kind: 'dispute', gatewayPaymentId, eventId: `${event}/${id ?? gatewayPaymentId}/${status ?? ''}` }
}
