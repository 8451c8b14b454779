// Flutterwave's JSON of payments, and the pure translations between it and the gateway contract.

import { type Static, Type } from 'typebox'
import type { FailureCode } from '../../core/failures.ts'
import { addMs } from '../../kit/clock.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http-client.ts'
import type {
  Attempt,
  CheckoutChoice,
  Outcome,
  ParsedWebhook,
  StartedCheckout,
  StatusQuery,
} from '../gateway.ts'
import { DECIMAL, fromMajor, toMajor } from './amounts.ts'
import {
  findFailureCode,
  findIssuerDecline,
  isAmbiguous,
  isDuplicate,
  isValidation,
  redact,
} from './declines.ts'
import { fallbackCountry, toPaymentOptions } from './rails.ts'
import {
  describeAccessError,
  type ErrorReply,
  Identity,
  isRejection,
  Maybe,
  readReply,
  Text,
  unknown,
  unreadable,
} from './response.ts'
import { type Credential, toSavedMethod } from './saved-method.ts'

const MINUTE_MS = 60_000
const MAX_SESSION_MINUTES = 1_440

export function toPaymentBody(attempt: Attempt, choice: CheckoutChoice, returnUrl: string, now: Date) {
  const { key, amount, customer, merchantName, description, reference, paymentId, country } = attempt
  return {
    tx_ref: key,
    amount: toMajor(amount),
    currency: amount.currency,
    // Flutterwave sends the payer here when the page is done, and also when they cancel.
    redirect_url: returnUrl,
    payment_options: toPaymentOptions(amount.currency, choice.channel),
    customer: { email: customer.email, name: `${customer.firstname} ${customer.lastname}`.trim() },
    customizations: { title: merchantName, ...(description !== null && { description }) },
    // For Flutterwave's dashboard. Only the country is read back, for a card that does not tell its own.
    meta: { payment: paymentId, reference, ...(country !== null && { country }) },
    ...(attempt.expiresAt && { session_duration: toMinutes(now, attempt.expiresAt) }),
    // Trying another way to pay is what our own page is for: as few tries behind one answer as the field can say.
    max_retry_attempt: 1,
  }
}

/** Their page closes with our checkout, as well as whole minutes can say it. */
function toMinutes(now: Date, expiresAt: Date): number {
  const minutes = Math.ceil((expiresAt.getTime() - now.getTime()) / MINUTE_MS)
  return Math.min(Math.max(minutes, 1), MAX_SESSION_MINUTES)
}

/** `redirectUrl` is demanded since charges may be challenged, although nobody of ours will follow a challenge. */
export function toChargeBody(attempt: Attempt, credential: Credential, redirectUrl: string) {
  const { key, amount, customer, description, reference } = attempt
  return {
    token: credential.token,
    email: credential.email,
    currency: amount.currency,
    country: credential.country ?? attempt.country ?? fallbackCountry(amount.currency),
    amount: toMajor(amount),
    tx_ref: key,
    narration: description ?? reference,
    first_name: customer.firstname,
    last_name: customer.lastname,
    redirect_url: redirectUrl,
  }
}

// What a payment cannot be judged without is required. The rest is looked at on its own: a card of a new kind must not
// make a payment unreadable.
const Transaction = Type.Object({
  id: Type.String({ pattern: '^[1-9][0-9]{0,18}$' }),
  tx_ref: Identity,
  // Any text: what we do not know is for the switch.
  status: Text,
  amount: Type.String({ pattern: DECIMAL }),
  currency: Text,
  processor_response: Maybe(Text),
  created_at: Maybe(Text),
  meta: Type.Optional(Type.Unknown()),
  customer: Type.Optional(Type.Unknown()),
  card: Type.Optional(Type.Unknown()),
})
type Transaction = Static<typeof Transaction>

const readTransaction = schemaReader(Transaction)
const readLink = schemaReader(Type.Object({ link: Type.String({ maxLength: 2_048, pattern: '^https?://' }) }))
const readChallenge = schemaReader(Type.Object({ authorization: Type.Object({ redirect: Identity }) }))

/** Flutterwave has the key from an earlier try: only its record tells what became of it. */
export interface DuplicateReference {
  kind: 'duplicate'
}

export function fromStart(answer: HttpResult, key: string): StartedCheckout | Outcome | DuplicateReference {
  const reply = readReply(answer)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromRejectedStart(reply)
  const link = readLink(reply.data)?.link
  if (link === undefined) return unreadable('Flutterwave answered no link to its page')
  // A page that nobody has used has no number at Flutterwave yet: it is known by our key alone.
  return { kind: 'started', gatewayReference: key, next: { kind: 'redirect', url: link } }
}

/** A page takes no money by itself, so whatever is complained about, nothing has begun. */
function fromRejectedStart(error: ErrorReply): Outcome | DuplicateReference {
  const accessError = fromAccessError(error.http)
  if (accessError) return accessError
  const { providerMessage } = error
  if (providerMessage === null || !isRejection(error.http)) return fromUnexpectedError(error)
  return isDuplicate(providerMessage) ? { kind: 'duplicate' } : refused(describe(error))
}

export function fromCharge(answer: HttpResult, attempt: Attempt, now: Date): Outcome | DuplicateReference {
  const reply = readReply(answer)
  if (reply.kind === 'unknown') return reply
  const transaction = readTransaction(reply.data)
  if (transaction) return fromTransaction(transaction, attempt, now)
  if (reply.kind === 'error') return fromFailedCharge(reply)
  return unreadable('Flutterwave answered a charge that cannot be read')
}

/** Statuses that say by themselves that nothing was begun; 400 is Flutterwave's answer to nearly everything. */
const REJECTION_STATUSES: readonly number[] = [404, 405, 422]

/**
 * Without a record there is only a message. A bank's verdict and a complaint about the request are believed; whatever else
 * they say, cards have been charged behind such an error, and only the record tells.
 */
function fromFailedCharge(error: ErrorReply): Outcome | DuplicateReference {
  const accessError = fromAccessError(error.http)
  // No other gateway can charge this card, so a busy hour is no end: the same request goes out again later.
  if (accessError) return error.http === 429 ? unknown('no_answer', accessError.message) : accessError
  const { providerMessage } = error
  if (providerMessage === null || !isRejection(error.http)) return fromUnexpectedError(error)
  if (isDuplicate(providerMessage)) return { kind: 'duplicate' }
  const message = describe(error)
  if (isAmbiguous(providerMessage)) return unknown('no_answer', message)
  const code = findIssuerDecline(providerMessage)
  if (code) return declined(null, code, message)
  const isRefused = REJECTION_STATUSES.includes(error.http) || isValidation(providerMessage)
  return isRefused ? refused(message) : unknown('no_answer', message)
}

function fromAccessError(http: number): Declined | undefined {
  const message = describeAccessError(http)
  return message === undefined ? undefined : refused(message)
}

function fromUnexpectedError({ http }: ErrorReply): Outcome {
  return http === 408 || http === 409
    ? unknown('no_answer', `Flutterwave answered HTTP ${http}`)
    : unreadable(`Flutterwave answered HTTP ${http}`)
}

function describe({ http, providerMessage }: ErrorReply): string {
  return `Flutterwave answered HTTP ${http}: ${redact(providerMessage ?? '')}`
}

export function fromVerify(answer: HttpResult, query: StatusQuery, now: Date): Outcome {
  const reply = readReply(answer)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromQueryError(reply, query, now)
  const transaction = readTransaction(reply.data)
  return transaction
    ? fromTransaction(transaction, query, now)
    : unreadable('Flutterwave answered a payment that cannot be read')
}

/** A refusal to tell says nothing about the payment, which may well have been paid. */
function fromQueryError(error: ErrorReply, query: StatusQuery, now: Date): Outcome {
  const { http, providerMessage } = error
  const accessError = describeAccessError(http)
  if (accessError) return unknown('no_answer', accessError)
  const isNotFound =
    providerMessage !== null && (http === 404 || /no transaction|not found/i.test(providerMessage))
  return isNotFound && isRejection(http) ? fromNoTransaction(query, now) : fromUnexpectedError(error)
}

// Past this much after the end of our checkout, with which their page has closed, no payment can still appear.
const PAGE_MARGIN_MS = 60 * MINUTE_MS

/**
 * Flutterwave knows a reference from the moment in which somebody tries to pay with it. A page without a try is a payer
 * who has not paid yet, or never saw the page because its address got lost; a charge without one did not arrive (yet).
 */
function fromNoTransaction({ operation, expiresAt, key }: StatusQuery, now: Date): Outcome {
  if (operation === 'charge') return unknown('not_found', 'Flutterwave does not know this reference')
  const isOver = expiresAt !== null && addMs(expiresAt, PAGE_MARGIN_MS) <= now
  return isOver
    ? declined(key, 'customer_timeout', 'nobody paid before the page of Flutterwave closed')
    : { kind: 'pending', gatewayReference: key }
}

function fromTransaction(transaction: Transaction, query: StatusQuery, now: Date): Outcome {
  const { id, processor_response: response, meta } = transaction
  const status = transaction.status.toLowerCase()
  if (status === 'successful') return fromSuccess(transaction, query, now)
  // A success of another payment is for settle to see; anything else about another payment says nothing about this one.
  if (transaction.tx_ref !== query.key)
    return unreadable('Flutterwave answered about another payment than the one it was asked about')
  switch (status) {
    case 'pending':
    case 'pending auth':
    case 'success-pending-validation':
      // Nobody is there to act, and nobody was given the address at which to act later.
      return query.operation === 'charge' && (readChallenge(meta) || isUnattended(query, now))
        ? declined(id, 'authentication_required', 'the bank wants the customer to approve this payment')
        : { kind: 'pending', gatewayReference: id }
    case 'failed':
      return declined(id, findFailureCode(response) ?? 'unknown', redact(response || 'failed'))
    case 'cancelled':
      return declined(id, 'customer_cancelled', redact(response || 'cancelled'))
    default:
      return unreadable(`Flutterwave answered a status that we do not know: ${redact(status)}`)
  }
}

// Far longer than a charge is on its way to a bank and back, so that one which still has not ended waits for somebody.
const UNATTENDED_MS = 60 * MINUTE_MS

/** The answer that led to the challenge was lost, and the record does not repeat where it was. */
function isUnattended({ startedAt }: StatusQuery, now: Date): boolean {
  return now.getTime() - startedAt.getTime() > UNATTENDED_MS
}

function fromSuccess(transaction: Transaction, query: StatusQuery, now: Date): Outcome {
  // Not charged_amount, which has the fee on top where the payer bears it.
  const paid = fromMajor(transaction.amount, transaction.currency, query.amount)
  if (!paid) return unreadable('Flutterwave answered a success in a currency or an amount that cannot be')
  const createdAt = new Date(transaction.created_at ?? '')
  return {
    kind: 'succeeded',
    gatewayReference: transaction.id,
    paid,
    key: transaction.tx_ref,
    // The card of a charge was saved before it was charged.
    savedMethod: query.operation === 'checkout' ? toSavedMethod(transaction, paid.currency) : null,
    paidAt: Number.isNaN(createdAt.getTime()) ? now : createdAt,
  }
}

const readPaymentWebhook = schemaReader(
  Type.Object({
    event: Text,
    data: Type.Object({ id: Identity, tx_ref: Identity, status: Maybe(Text) }),
  }),
)
const readEvent = schemaReader(Type.Object({ event: Text }))

/** Which payment a genuine webhook is about. Failures come too, and the same number first pending and then paid. */
export function fromWebhookBody(rawBody: Buffer): ParsedWebhook {
  const body = parseExactJson(rawBody.toString())
  const event = readEvent(body)?.event
  if (event !== 'charge.completed')
    return { kind: 'ignored', reason: `not a payment: ${redact(event ?? 'no event')}` }
  const webhook = readPaymentWebhook(body)
  if (!webhook) return { kind: 'ignored', reason: 'a payment that cannot be read' }
  const { id, tx_ref: key, status } = webhook.data
  return { kind: 'payment', key, eventId: `${event}/${id}/${status ?? ''}` }
}

type Declined = Extract<Outcome, { kind: 'declined' }>

function declined(gatewayReference: string | null, code: FailureCode, message: string): Outcome {
  return { kind: 'declined', code, message, gatewayReference }
}

function refused(message: string): Declined {
  return { kind: 'declined', code: 'provider_unavailable', message, gatewayReference: null, refused: true }
}
