// Our requests to Stripe: forms with nesting in brackets. They use only fields that every API version since the pinned
// one accepts; payment_method_types and ui_mode are not among them.

import { type Static, Type } from 'typebox'
import { parseJson, schemaReader } from '../../kit/exact-json.ts'
import type { Attempt, RefundRequest } from '../gateway.ts'
import { toAmount } from './amounts.ts'
import { Identity } from './shapes.ts'

/**
 * The metadata field with the attempt's key, in every object that we create: other software may use the same account.
 */
export const KEY_FIELD = 'cowry_key'
export const REFUND_KEY_FIELD = 'cowry_refund_key'
const REFERENCE_FIELD = 'cowry_reference'

const Credential = Type.Object({ customer: Identity, payment_method: Identity })
/** What Stripe needs to charge a saved card; stored as JSON text. */
export type Credential = Static<typeof Credential>

const readCredentialBody = schemaReader(Credential)

export function readCredential(text: string): Credential | undefined {
  return readCredentialBody(parseJson(text))
}

export type Form = readonly (readonly [name: string, value: string])[]

/** Brackets are not escaped, as in Stripe's own libraries. */
export function encodeForm(form: Form): string {
  const encode = (text: string) => encodeURIComponent(text.toWellFormed())
  const encodeName = (name: string) => encode(name).replaceAll('%5B', '[').replaceAll('%5D', ']')
  return form.map(([name, value]) => `${encodeName(name)}=${encode(value)}`).join('&')
}

/**
 * Stripe compares a repeated request with the first one under the same idempotency key. So a form contains only values
 * that do not change between retries: not the merchant's name, and not the time.
 */
export function toCheckoutForm(attempt: Attempt, returnUrl: string, savesCard: boolean): Form {
  return [
    ['mode', 'payment'],
    ['success_url', returnUrl],
    ['cancel_url', returnUrl],
    ['client_reference_id', attempt.key],
    ['customer_email', attempt.customer.email],
    // A card can be charged again only if it belongs to a customer at Stripe.
    ['customer_creation', savesCard ? 'always' : 'if_required'],
    ['line_items[0][quantity]', '1'],
    ['line_items[0][price_data][currency]', attempt.amount.currency.toLowerCase()],
    ['line_items[0][price_data][unit_amount]', toAmount(attempt.amount)],
    ['line_items[0][price_data][product_data][name]', toDescription(attempt)],
    ...(savesCard ? ([['payment_intent_data[setup_future_usage]', 'off_session']] as const) : []),
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
    // No payer is present who could be redirected.
    ['automatic_payment_methods[allow_redirects]', 'never'],
    ['description', toDescription(attempt)],
    ...toMetadata(attempt, 'metadata'),
  ]
}

function toDescription({ description, reference }: Attempt): string {
  // White space alone would be an empty name, which Stripe rejects.
  return description?.trim() || reference
}

function toMetadata({ key, reference }: Attempt, field: string): Form {
  return [
    [`${field}[${KEY_FIELD}]`, key],
    [`${field}[${REFERENCE_FIELD}]`, reference],
  ]
}

// Stripe allows 30 minutes to 24 hours from the moment it creates the session. One hour leaves 30 minutes for retries
// of the request and for clock differences.
const OPEN_MS = 60 * 60_000

/**
 * Stripe's page expires by itself, so that an old one cannot take money unexpectedly. The expiry depends only on the
 * start of the attempt: our checkout's expiry can be extended, and Stripe would reject the retry as another request
 * under the same key.
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
