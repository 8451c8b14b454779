// Checkout sessions as JSON, and the pure translations between them and the gateway contract. Our key is the client
// reference of a session, by which sessions can be searched. Amounts are decimal text in major units.

import { type Static, Type } from 'typebox'
import { decimalsOf, isCurrency } from '../../core/currency.ts'
import type { FailureCode } from '../../core/failures.ts'
import { formatAmount, type Money, readDecimal } from '../../core/money.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, Outcome, StartedCheckout } from '../gateway.ts'
import { declined, Maybe, readTime, receipt, refused, type Unknown, unknown, unrecognized } from '../reply.ts'
import { describeError, type ErrorReply, readReply } from './client.ts'

/** Wave refuses decimals of a currency that has none. */
export function toAmount(amount: Money): string {
  const text = formatAmount(amount)
  return decimalsOf(amount.currency) === 0 ? text.replace(/\.00$/, '') : text
}

// The session is not restricted to the payer's number (restrict_payer_mobile): relatives often pay for each other.
export function toSessionBody({ key, amount }: Attempt, returnUrl: string) {
  return {
    amount: toAmount(amount),
    currency: amount.currency,
    client_reference: key,
    success_url: returnUrl,
    // The same page: it asks the provider whatever the address says.
    error_url: returnUrl,
  }
}

const Text = (maxLength: number) => Type.String({ maxLength })
const Identity = Type.String({ minLength: 1, maxLength: 255 })

const Session = Type.Object({
  id: Identity,
  amount: Text(50),
  currency: Text(50),
  // Any text: the switch handles unknown values.
  checkout_status: Text(50),
  payment_status: Text(50),
  client_reference: Maybe(Text(255)),
  // The payer sees it in the app of Wave.
  transaction_id: Maybe(Text(255)),
  wave_launch_url: Maybe(Type.String({ maxLength: 2_048, pattern: '^https?://' })),
  when_completed: Maybe(Text(50)),
  last_payment_error: Maybe(Type.Object({ code: Maybe(Text(100)) })),
})
export type Session = Static<typeof Session>

const readSession = jsonReader(Session)
const readFound = jsonReader(Type.Object({ result: Type.Array(Session) }))

/** The session of a response, the error of Wave, or why the outcome is unknown. */
export function fromSessionReply(result: HttpResult): Session | ErrorReply | Unknown {
  const reply = readReply(result, readSession)
  return reply.kind === 'body' ? reply.body : reply
}

/** The sessions of this key; more than one if it was submitted twice at the same time. */
export function fromSearch(result: HttpResult, key: string): Session[] | ErrorReply | Unknown {
  const reply = readReply(result, readFound)
  if (reply.kind !== 'body') return reply
  return reply.body.result.filter(({ client_reference: reference }) => reference === key)
}

export function isSession(value: Session | ErrorReply | Unknown): value is Session {
  return 'checkout_status' in value
}

/** The paid session of several, otherwise the one that can still be paid. */
export function chooseSession(sessions: readonly Session[]): Session | undefined {
  const withStatus = (status: string) => sessions.find((session) => session.checkout_status === status)
  const paid = sessions.find(({ payment_status: status }) => status === 'succeeded')
  return paid ?? withStatus('open') ?? sessions[0]
}

/** A status check that Wave refused says nothing about the payment. */
export function fromRefusedQuery(error: ErrorReply): Unknown {
  const isUnknownThere = error.http === 404
  return unknown(isUnknownThere ? 'not_found' : 'no_answer', describeError(error))
}

// Statuses that prove that no session was made. Not 409: a request with the same key may be in progress.
const REJECTIONS: readonly number[] = [400, 401, 403, 422, 429]

/** A refused request for a new session. */
export function fromRefusedStart(error: ErrorReply): Outcome {
  return REJECTIONS.includes(error.http)
    ? refused('provider_unavailable', describeError(error))
    : unknown('unrecognized', describeError(error))
}

/** A session that waits for its payer is a page; any other is an outcome. */
export function toStarted(session: Session, key: string): StartedCheckout | Outcome {
  const outcome = fromSession(session, key)
  if (outcome.kind !== 'pending') return outcome
  const { id, wave_launch_url: url } = session
  if (!url || !URL.canParse(url)) return unrecognized('Wave answered a session without its page')
  return { kind: 'started', gatewayReference: id, next: { kind: 'redirect', url } }
}

export function fromSession(session: Session, key: string): Outcome {
  const { id, checkout_status: checkout, payment_status: payment, client_reference: reference } = session
  if (checkout === 'complete' && payment === 'succeeded') return fromPaid(session)
  // A record about another payment says nothing about this one; a success is compared by our caller.
  if (reference !== key) return unrecognized('Wave answered about another payment')
  switch (`${checkout} ${payment}`) {
    // An open session has this payment status from the beginning. After a failed try the payer can try again.
    case 'open processing':
    case 'open cancelled':
    case 'complete processing':
      return { kind: 'pending', gatewayReference: id }
    case 'complete cancelled':
      return fromEnded(session, 'customer_cancelled')
    case 'expired processing':
    case 'expired cancelled':
      return fromEnded(session, 'customer_timeout')
    default:
      return unrecognized('Wave answered a status that we do not know')
  }
}

function fromPaid({ id, amount, currency, ...session }: Session): Outcome {
  const paid = isCurrency(currency) ? readDecimal(amount, currency) : undefined
  if (!paid || paid.minor <= 0n) return unrecognized('Wave answered an amount that cannot be read')
  return {
    kind: 'succeeded',
    gatewayReference: id,
    ...receipt(session.transaction_id),
    paid,
    key: session.client_reference ?? '',
    savedMethod: null,
    paidAt: readTime(session.when_completed) ?? null,
  }
}

const DECLINES: Readonly<Record<string, FailureCode>> = {
  'insufficient-funds': 'insufficient_funds',
  'blocked-account': 'do_not_honor',
  'cross-border-payment-not-allowed': 'do_not_honor',
  'customer-age-restricted': 'do_not_honor',
  // The limit of the merchant's own wallet.
  'kyb-limits-exceeded': 'limit_exceeded',
  'payer-mobile-mismatch': 'authentication_failed',
  'payment-failure': 'provider_unavailable',
}

/** Why the payer's last try failed, or how the session ended if there was none. */
function fromEnded({ id, last_payment_error: error }: Session, ending: FailureCode): Outcome {
  const code = error?.code ?? ''
  if (code === '') return declined(id, ending, ENDINGS[ending] ?? 'the session has ended')
  const known = Object.hasOwn(DECLINES, code) ? DECLINES[code] : undefined
  return declined(id, known ?? 'unknown', `Wave answered ${code}`)
}

const ENDINGS: Readonly<Partial<Record<FailureCode, string>>> = {
  customer_cancelled: 'the payment was cancelled',
  customer_timeout: 'the session expired before it was paid',
}
