// Our requests to Stripe: forms with nesting in brackets. They use only fields that every API version since the pinned
// one accepts; ui_mode is not among them. payment_method_types, which asks for a bank transfer, was removed later: the pin
// keeps it valid.

import { type Static, Type } from 'typebox'
import type { Currency } from '../../core/currency.ts'
import { parseJson, schemaReader } from '../../kit/exact-json.ts'
import type { Attempt, CheckoutChoice, RefundRequest } from '../gateway.ts'
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
export function toCheckoutForm(attempt: Attempt, returnUrl: string, methods: Form): Form {
  return [
    ['mode', 'payment'],
    ['success_url', returnUrl],
    ['cancel_url', returnUrl],
    ['client_reference_id', attempt.key],
    ...methods,
    ['line_items[0][quantity]', '1'],
    ['line_items[0][price_data][currency]', attempt.amount.currency.toLowerCase()],
    ['line_items[0][price_data][unit_amount]', toAmount(attempt.amount)],
    ['line_items[0][price_data][product_data][name]', toDescription(attempt)],
    ['payment_intent_data[description]', toDescription(attempt)],
    ...toMetadata(attempt, 'payment_intent_data[metadata]'),
    ...toMetadata(attempt, 'metadata'),
    ['expires_at', toExpiry(attempt)],
  ]
}

/** The methods that the account has enabled, and whether the one that the payer chooses there is saved. */
export function toEnabledMethods({ amount, customer }: Attempt, savesMethod: boolean): Form {
  return [
    ['customer_email', customer.email],
    // A method can be charged again only if it belongs to a customer at Stripe.
    ['customer_creation', savesMethod ? 'always' : 'if_required'],
    ...(savesMethod ? [[toSavingField(amount.currency), 'off_session'] as const] : []),
  ]
}

/**
 * A payment that is to be saved hides the methods that cannot be saved. In Nigeria these are common (ng_bank_transfer,
 * ng_wallet), so there only a card is saved, and the others stay.
 */
function toSavingField(currency: Currency): string {
  return currency === 'NGN'
    ? 'payment_method_options[card][setup_future_usage]'
    : 'payment_intent_data[setup_future_usage]'
}

const TRANSFER_TYPES: Partial<Record<Currency, string>> = {
  EUR: 'eu_bank_transfer',
  GBP: 'gb_bank_transfer',
  USD: 'us_bank_transfer',
}

/** Whether the payer chose a transfer for which Stripe shows an account to pay into. */
export function isBankTransfer({ channel }: CheckoutChoice, { amount }: Attempt): boolean {
  return channel === 'bank_transfer' && amount.currency in TRANSFER_TYPES
}

const TRANSFER = 'payment_method_options[customer_balance]'

/** A transfer alone, into an account of the customer at Stripe. It cannot be saved. */
export function toTransferMethod({ amount, country }: Attempt, customerId: string): Form {
  const type = TRANSFER_TYPES[amount.currency] ?? ''
  return [
    ['customer', customerId],
    ['payment_method_types[0]', 'customer_balance'],
    [`${TRANSFER}[funding_type]`, 'bank_transfer'],
    [`${TRANSFER}[bank_transfer][type]`, type],
    ...(amount.currency === 'EUR'
      ? [[`${TRANSFER}[bank_transfer][${type}][country]`, toAccountCountry(country)] as const]
      : []),
  ]
}

// Where Stripe has accounts for transfers in euro. From elsewhere the payer sends a SEPA transfer to the default.
const ACCOUNT_COUNTRIES: readonly string[] = ['BE', 'DE', 'ES', 'FR', 'IE', 'NL']
const DEFAULT_ACCOUNT_COUNTRY = 'DE'

function toAccountCountry(country: string | null): string {
  return country !== null && ACCOUNT_COUNTRIES.includes(country) ? country : DEFAULT_ACCOUNT_COUNTRY
}

const MAX_NAME = 256

export function toCustomerForm({ customer, key }: Attempt): Form {
  const name = `${customer.firstname} ${customer.lastname}`.trim().slice(0, MAX_NAME)
  return [
    ['email', customer.email],
    ...(name === '' ? [] : [['name', name] as const]),
    [`metadata[${KEY_FIELD}]`, key],
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
