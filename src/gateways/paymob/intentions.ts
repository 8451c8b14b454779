// Intentions: what is to be paid, by which integrations, and until when. An intention has an order, under which Paymob
// records every try of the payer.

import { type Static, Type } from 'typebox'
import type { Money } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, Outcome } from '../gateway.ts'
import { Maybe, refused, type Unknown, unknown, unrecognized } from '../reply.ts'
import { describeError, type ErrorReply, readReply } from './client.ts'

export const INTENTIONS = '/v1/intention/'

interface Terms {
  /** Of the payer, E.164. */
  phone: string
  integrations: readonly string[]
  notificationUrl: string
  redirectionUrl?: string
  /** Seconds until it can no longer be paid. */
  expiration?: number
}

/** Paymob wants a text in every field of the payer; that of the phone must be a number. */
const NOT_AVAILABLE = 'NA'

export function toIntentionBody(attempt: Attempt, terms: Terms) {
  const { key, amount, description, reference, customer } = attempt
  const name = (text: string) => text.trim().slice(0, 50) || NOT_AVAILABLE
  const payer = {
    first_name: name(customer.firstname),
    last_name: name(customer.lastname),
    email: customer.email,
  }
  const item = (description ?? reference).trim().slice(0, 50) || NOT_AVAILABLE
  return {
    amount: toCents(amount),
    currency: amount.currency,
    payment_methods: terms.integrations.map(Number),
    // Their sum must be the amount.
    items: [{ name: item, amount: toCents(amount), description: item, quantity: 1 }],
    billing_data: { ...payer, phone_number: terms.phone },
    customer: payer,
    special_reference: key,
    notification_url: terms.notificationUrl,
    ...(terms.redirectionUrl !== undefined && { redirection_url: terms.redirectionUrl }),
    ...(terms.expiration !== undefined && { expiration: terms.expiration }),
  }
}

export function toCents({ minor }: Money): number {
  const cents = Number(minor)
  if (!Number.isSafeInteger(cents)) throw new Error('an amount is larger than the API accepts')
  return cents
}

export const Digits = Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$' })

const Name = Maybe(Type.String({ maxLength: 200 }))

const Intention = Type.Object({
  client_secret: Type.String({ pattern: '^[A-Za-z0-9_-]{8,200}$' }),
  intention_order_id: Digits,
  special_reference: Name,
})
export type Intention = Static<typeof Intention>

const readIntention = schemaReader(Intention)

/** The intention of a response, Paymob's error, or why the outcome is unknown. */
export function fromIntentionReply(result: HttpResult, key: string): Intention | ErrorReply | Unknown {
  const reply = readReply(result, readIntention)
  return reply.kind === 'body' ? ofPayment(reply.body, key) : reply
}

function ofPayment<Body extends Pick<Intention, 'special_reference'>>(
  body: Body,
  key: string,
): Body | Unknown {
  const { special_reference: name } = body
  return name && name !== key ? unrecognized('Paymob answered about another payment') : body
}

const readPaymentKeys = schemaReader(
  Type.Object({
    special_reference: Name,
    payment_keys: Type.Array(
      Type.Object({
        integration: Maybe(Digits),
        key: Type.String({ minLength: 1, maxLength: 8_000 }),
      }),
      { minItems: 1 },
    ),
  }),
)
export type PaymentKeys = NonNullable<ReturnType<typeof readPaymentKeys>>

/** The payment keys of an intention that was retrieved. */
export function fromRetrievedIntention(result: HttpResult, key: string): PaymentKeys | ErrorReply | Unknown {
  const reply = readReply(result, readPaymentKeys)
  return reply.kind === 'body' ? ofPayment(reply.body, key) : reply
}

export function isIntention(value: Intention | ErrorReply | Unknown): value is Intention {
  return 'client_secret' in value
}

/** Nothing is sent. */
export function withoutPhone(): Outcome {
  return refused('provider_unavailable', 'Paymob wants a phone number of every payer: send customer.phone')
}

/** Statuses that prove that no intention was made. */
const REJECTIONS: readonly number[] = [400, 401, 403, 404, 422, 429]

/** What Paymob says about a reference that it has already: then there is an intention. */
const REPEATED = /special_reference|merchant_order_id|duplicate|already/i

export function fromRefusedIntention(error: ErrorReply): Outcome {
  const message = describeError(error)
  if (!REJECTIONS.includes(error.http)) return unrecognized(message)
  const isRepeated = [400, 422].includes(error.http) && REPEATED.test(error.text)
  return isRepeated
    ? unknown('unrecognized', 'Paymob has an intention with this reference already')
    : refused('provider_unavailable', message)
}
