// What we ask Stripe for: forms with nesting in brackets. Only fields that every version of its API since the pinned one
// takes; payment_method_types and ui_mode are not among them.

import { type Static, Type } from 'typebox'
import { schemaReader } from '../../kit/exact-json.ts'
import type { Attempt, RefundRequest } from '../gateway.ts'
import { toAmount } from './amounts.ts'
import { Identity, parseJson } from './shapes.ts'

/** The attempt's key in the metadata of everything that we make: other software may use the same account. */
export const KEY_FIELD = 'cowry_key'
export const REFUND_KEY_FIELD = 'cowry_refund_key'
const REFERENCE_FIELD = 'cowry_reference'

const Credential = Type.Object({ customer: Identity, payment_method: Identity })
/** What Stripe wants again to charge a saved card; kept as its JSON text. */
export type Credential = Static<typeof Credential>

const readCredentialBody = schemaReader(Credential)

export function readCredential(text: string): Credential | undefined {
  return readCredentialBody(parseJson(text))
}

export type Form = readonly (readonly [name: string, value: string])[]

/** Brackets stay as they are, like in the requests of Stripe's own libraries. */
export function encodeForm(form: Form): string {
  const encode = (text: string) => encodeURIComponent(text.toWellFormed())
  const encodeName = (name: string) => encode(name).replaceAll('%5B', '[').replaceAll('%5D', ']')
  return form.map(([name, value]) => `${encodeName(name)}=${encode(value)}`).join('&')
}

/**
 * Stripe compares a repeated request with the first one under the same key, so a form is made only of what does not
 * change between two tries: not of the merchant's name, and not of the time.
 */
export function toCheckoutForm(attempt: Attempt, returnUrl: string): Form {
  return [
    ['mode', 'payment'],
    ['success_url', returnUrl],
    ['cancel_url', returnUrl],
    ['client_reference_id', attempt.key],
    // A card can be charged again only if it belongs to a customer of Stripe's.
    ['customer_email', attempt.customer.email],
    ['customer_creation', 'always'],
    ['line_items[0][quantity]', '1'],
    ['line_items[0][price_data][currency]', attempt.amount.currency.toLowerCase()],
    ['line_items[0][price_data][unit_amount]', toAmount(attempt.amount)],
    ['line_items[0][price_data][product_data][name]', toDescription(attempt)],
    ['payment_intent_data[setup_future_usage]', 'off_session'],
    ['payment_intent_data[description]', toDescription(attempt)],
    ...toMetadata(attempt, 'payment_intent_data[metadata]'),
    ...toMetadata(attempt, 'metadata'),
    ['expires_at', toExpiry(attempt)],
  ]
}

export function toChargeForm(attempt: Attempt, credential: Credential): Form {
  return [
    ['amount', toAmount(attempt.amount)],
    ['currency', attempt.amount.currency.toLowerCase()],
    ['customer', credential.customer],
    ['payment_method', credential.payment_method],
    ['off_session', 'true'],
    ['confirm', 'true'],
    ['automatic_payment_methods[enabled]', 'true'],
    // Nobody is there to be redirected.
    ['automatic_payment_methods[allow_redirects]', 'never'],
    ['description', toDescription(attempt)],
    ...toMetadata(attempt, 'metadata'),
  ]
}

function toDescription({ description, reference }: Attempt): string {
  // A text of white space alone would be an empty name, which Stripe does not take.
  return description?.trim() || reference
}

function toMetadata({ key, reference }: Attempt, field: string): Form {
  return [
    [`${field}[${KEY_FIELD}]`, key],
    [`${field}[${REFERENCE_FIELD}]`, reference],
  ]
}

// Stripe wants 30 minutes to 24 hours from the moment in which it makes the session. An hour leaves the other half for
// tries that come after the first one did not arrive, and for a clock that is not Stripe's.
const OPEN_MS = 60 * 60_000

/**
 * Stripe's page closes by itself, so that an old one cannot take money that nobody expects. It is counted from the start
 * of the attempt alone: our checkout's own end moves when the payer asks for more time, and Stripe would refuse the next
 * try as another request under the same key.
 */
function toExpiry({ startedAt }: Attempt): string {
  return String(Math.floor((startedAt.getTime() + OPEN_MS) / 1_000))
}

export function toRefundForm(refund: RefundRequest, intentId: string): Form {
  return [
    ['payment_intent', intentId],
    ['amount', toAmount(refund.amount)],
    [`metadata[${KEY_FIELD}]`, refund.attemptKey],
    [`metadata[${REFUND_KEY_FIELD}]`, refund.key],
  ]
}
