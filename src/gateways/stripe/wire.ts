// Stripe's objects, and their pure translation to the gateway contract.

import { type Static, Type } from 'typebox'
import type { Money } from '../../core/money.ts'
import { addMs } from '../../kit/clock.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Outcome, StartedCheckout } from '../gateway.ts'
import { declined, Maybe, receipt, refused, type Unknown, unknown, unrecognized } from '../reply.ts'
import { fromAmount } from './amounts.ts'
import { toFailureCode } from './declines.ts'
import { KEY_FIELD } from './forms.ts'
import {
  describeError,
  describeReasons,
  type ErrorReply,
  fromQueryError,
  isBusy,
  isKeyRefused,
  readReply,
  type StripeError,
} from './response.ts'
import { toSavedMethod } from './saved-method.ts'
import { Amount, Identity, idOf, Metadata, Text, UnixSeconds } from './shapes.ts'

const MAX_URL = 5_000

// Only the fields that decide the outcome are required. The rest is parsed separately: a new kind of card must not make
// a payment unreadable.
const Session = Type.Object({
  id: Identity,
  // Any text: the switch handles unknown values.
  status: Nullish(50),
  payment_status: Text(50),
  created: Maybe(UnixSeconds),
  url: Maybe(Type.String({ maxLength: MAX_URL, pattern: '^https?://' })),
  amount_total: Maybe(Amount),
  currency: Nullish(10),
  client_reference_id: Nullish(255),
  customer: Type.Optional(Type.Unknown()),
  payment_intent: Type.Optional(Type.Unknown()),
})
type Session = Static<typeof Session>

const Intent = Type.Object({
  id: Identity,
  status: Text(50),
  created: Maybe(UnixSeconds),
  amount_received: Maybe(Amount),
  currency: Nullish(10),
  metadata: Maybe(Metadata),
  customer: Type.Optional(Type.Unknown()),
  payment_method: Type.Optional(Type.Unknown()),
  latest_charge: Type.Optional(Type.Unknown()),
  last_payment_error: Maybe(Type.Object({ code: Nullish(100), decline_code: Nullish(100) })),
})
type Intent = Static<typeof Intent>

function Nullish(maxLength: number) {
  return Maybe(Text(maxLength))
}

const readSession = schemaReader(Session)
const readIntent = schemaReader(Intent)

export function fromStart(result: HttpResult, key: string): StartedCheckout | Outcome {
  const reply = readReply(result, readSession)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromFailedSubmission(reply, key)
  const { id, status, url } = reply.body
  if (status !== 'open' || !url) return fromSession(reply.body, key)
  return { kind: 'started', gatewayReference: id, next: { kind: 'redirect', url } }
}

export function fromCharge(result: HttpResult, key: string): Outcome {
  const reply = readReply(result, readIntent)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'body') return fromIntent(reply.body, key)
  // No other gateway can charge this card, so a rate limit is not final: the same request is retried later.
  return isBusy(reply) ? unknown('no_answer', describeError(reply)) : fromFailedSubmission(reply, key)
}

export function fromSessionQuery(result: HttpResult, key: string): Outcome {
  const reply = readReply(result, readSession)
  if (reply.kind === 'unknown') return reply
  return reply.kind === 'error' ? fromQueryError(reply) : fromSession(reply.body, key)
}

export function fromIntentQuery(result: HttpResult, key: string): Outcome {
  const reply = readReply(result, readIntent)
  if (reply.kind === 'unknown') return reply
  return reply.kind === 'error' ? fromQueryError(reply) : fromIntent(reply.body, key)
}

const readCustomer = schemaReader(Type.Object({ id: Identity, object: Type.Literal('customer') }))

/** The id of a customer for a transfer. Without it the session is not sent, so nothing was begun. */
export function fromCustomer(result: HttpResult): string | Outcome {
  const reply = readReply(result, readCustomer)
  if (reply.kind === 'body') return reply.body.id
  if (reply.kind === 'unknown') return unknown('not_sent', reply.message)
  return reply.error
    ? refused('provider_unavailable', describeError(reply))
    : unknown('not_sent', describeError(reply))
}

/** Whether this request expired the session, or Stripe reports that it is not open. */
export function fromExpiry(result: HttpResult): 'expired' | 'not_open' | Unknown {
  const reply = readReply(result, readSession)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'body') return 'expired'
  const isNotOpen = reply.http === 400 && reply.error?.type === 'invalid_request_error'
  return isNotOpen && !isBusy(reply) ? 'not_open' : fromQueryError(reply)
}

/** The id of the session's PaymentIntent, which refunds refer to. */
export function readIntentId(result: HttpResult): string | Unknown {
  const reply = readReply(result, readSession)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromQueryError(reply)
  return idOf(reply.body.payment_intent) ?? unrecognized('the session has no payment')
}

/** An error in response to a submission. Only errors that prove that nothing was begun are refusals. */
function fromFailedSubmission(reply: ErrorReply, key: string): Outcome {
  const { http, error } = reply
  const message = describeError(reply)
  if (isKeyRefused(reply) || isBusy(reply)) return refused('provider_unavailable', message)
  // A request with the same key is in progress.
  if (http === 409) return unknown('no_answer', message)
  if (!error) return unknown('unreadable', message)
  if (error.payment_intent != null) {
    const intent = readIntent(error.payment_intent)
    return intent ? fromIntent(intent, key, error) : unrecognized(message)
  }
  switch (error.type) {
    case 'card_error':
      return { kind: 'declined', ...toFailure(error), gatewayReference: null }
    case 'invalid_request_error':
      return http === 400 || http === 404 ? fromInvalidRequest(error, message) : unrecognized(message)
    // Including idempotency_error: another request used this key, and its effect is unknown.
    default:
      return unrecognized(message)
  }
}

function fromInvalidRequest(error: StripeError, message: string): Outcome {
  const isCardGone =
    error.code === 'resource_missing' && (error.param === 'payment_method' || error.param === 'customer')
  return refused(isCardGone ? 'invalid_card' : 'provider_unavailable', message)
}

/** The caller checks a success for another payment; any other status of another payment says nothing about this one. */
function fromSession(session: Session, key: string): Outcome {
  const outcome = readSessionState(session)
  return outcome.kind === 'succeeded' || session.client_reference_id === key ? outcome : wrongPayment()
}

function readSessionState(session: Session): Outcome {
  const { id, status, payment_status: paymentStatus } = session
  switch (status) {
    // After a decline Stripe's page stays open: the payer may try another card.
    case 'open':
      return paymentStatus === 'unpaid' ? pending(id) : unknownStatus(`${status}/${paymentStatus}`)
    case 'complete':
      return fromCompleteSession(session)
    case 'expired':
      return declined(id, 'customer_timeout', 'the checkout session of Stripe has expired')
    default:
      return unknownStatus(String(status))
  }
}

function fromCompleteSession(session: Session): Outcome {
  switch (session.payment_status) {
    case 'paid':
      return fromPaidSession(session)
    case 'no_payment_required':
      // Only if a discount has left nothing to pay: an amount would be paid later, or never.
      return session.amount_total === 0
        ? fromPaidSession(session)
        : unknownStatus(`complete/${session.payment_status}`)
    case 'unpaid':
      return fromUnpaidSession(session)
    default:
      return unknownStatus(`complete/${session.payment_status}`)
  }
}

/** The payer has left the page, and the money is on its way or has failed: the PaymentIntent tells which. */
function fromUnpaidSession(session: Session): Outcome {
  const intent = readIntent(session.payment_intent)
  switch (intent?.status) {
    case 'processing':
      return settling(session.id, intent)
    case undefined:
    case 'requires_action':
    case 'requires_confirmation':
    case 'requires_capture':
    case 'succeeded':
      return pending(session.id)
    case 'requires_payment_method':
    case 'canceled': {
      const outcome = readIntentState(intent)
      return outcome.kind === 'declined' ? { ...outcome, gatewayReference: session.id } : outcome
    }
    default:
      return unknownStatus(`complete/unpaid/${intent?.status}`)
  }
}

// Amount and currency of the session are ours, even if Stripe shows the payer another currency.
function fromPaidSession(session: Session): Outcome {
  const intent = readIntent(session.payment_intent)
  const paid = readMoney(session.amount_total, session.currency)
  if (!paid || !session.client_reference_id) return unreadableSuccess()
  return {
    kind: 'succeeded',
    gatewayReference: session.id,
    // Stripe's dashboard and its refunds name the PaymentIntent, not the session.
    ...receipt(idOf(session.payment_intent)),
    paid,
    key: session.client_reference_id,
    savedMethod: toSavedMethod(intent?.payment_method, idOf(session.customer) ?? idOf(intent?.customer)),
    // A session's PaymentIntent is created when the payer pays.
    paidAt: fromSeconds(intent?.created ?? session.created),
  }
}

/** As with a session: only a success is reported for another payment. */
function fromIntent(intent: Intent, key: string, error?: StripeError): Outcome {
  const outcome = readIntentState(intent, error)
  return outcome.kind === 'succeeded' || intent.metadata?.[KEY_FIELD] === key ? outcome : wrongPayment()
}

function wrongPayment(): Outcome {
  return unrecognized('Stripe answered about another payment')
}

/** `error` is the error of the response; otherwise the payment contains its last error. */
function readIntentState(intent: Intent, error?: StripeError): Outcome {
  const { id, status } = intent
  switch (status) {
    case 'succeeded':
      return fromPaidIntent(intent)
    case 'processing':
      return settling(id, intent)
    case 'requires_capture':
      return pending(id)
    case 'requires_action':
    case 'requires_confirmation':
      // A charge has no payer present, and the challenge was given to no one.
      return declined(id, 'authentication_required', `the payment at Stripe is ${status}`)
    case 'requires_payment_method': {
      const reason = error ?? intent.last_payment_error
      // Without an error nothing was tried yet, which cannot happen because we confirm on creation.
      return reason ? { kind: 'declined', ...toFailure(reason), gatewayReference: id } : unknownStatus(status)
    }
    case 'canceled':
      return declined(id, 'customer_cancelled', 'the payment at Stripe was canceled')
    default:
      return unknownStatus(status)
  }
}

function fromPaidIntent(intent: Intent): Outcome {
  const paid = readMoney(intent.amount_received, intent.currency)
  const key = intent.metadata?.[KEY_FIELD]
  if (!paid || typeof key !== 'string') return unreadableSuccess()
  return {
    kind: 'succeeded',
    gatewayReference: intent.id,
    ...receipt(idOf(intent.latest_charge)),
    paid,
    key,
    // A charge uses a card that is already saved.
    savedMethod: null,
    paidAt: fromSeconds(intent.created),
  }
}

function toFailure(error: Pick<StripeError, 'code' | 'decline_code'>) {
  return { code: toFailureCode(error.decline_code ?? error.code ?? null), message: describeReasons(error) }
}

function readMoney(
  amount: number | null | undefined,
  currency: string | null | undefined,
): Money | undefined {
  return amount == null || currency == null ? undefined : fromAmount(amount, currency)
}

/** Null if the time is missing: then the time counts at which we learned of it. */
function fromSeconds(unixSeconds: number | null | undefined): Date | null {
  return typeof unixSeconds === 'number' ? new Date(unixSeconds * 1_000) : null
}

function pending(gatewayReference: string): Outcome {
  return { kind: 'pending', gatewayReference }
}

// Stripe may hear of a SEPA debit only after 14 business days.
const DEBIT_MS = 21 * 86_400_000

const readMethodType = schemaReader(Type.Object({ type: Text(50) }))

/** Debits are processing for days, cards for a moment at most. Of a charge Stripe does not say the type of the method. */
function settling(gatewayReference: string, intent: Intent): Outcome {
  const isDebit = (readMethodType(intent.payment_method)?.type ?? 'sepa_debit') === 'sepa_debit'
  const created = isDebit ? fromSeconds(intent.created) : null
  return { kind: 'pending', gatewayReference, ...(created && { settlesBy: addMs(created, DEBIT_MS) }) }
}

function unknownStatus(status: string): Outcome {
  return unrecognized(`Stripe answered a status that we do not know: ${status}`)
}

function unreadableSuccess(): Outcome {
  return unrecognized('Stripe answered a success without a key, or without an amount that can be read')
}

const readBalance = schemaReader(Type.Object({ object: Type.Literal('balance') }))

export function fromProbe(result: HttpResult): 'works' | 'refused' | 'unreachable' {
  const reply = readReply(result, readBalance)
  if (reply.kind === 'body') return 'works'
  return reply.kind === 'error' && isKeyRefused(reply) ? 'refused' : 'unreachable'
}
