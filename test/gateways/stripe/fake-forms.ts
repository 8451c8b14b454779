// The forms that Stripe accepts, field by field, and its errors. Written from Stripe's documentation and not from the
// connector, so that an unsupported field is detected.

import type { FakeReply } from '../fake-server.ts'

export type Fields = ReadonlyMap<string, string>

interface Rule {
  name: RegExp
  value: RegExp
  /** The name that must be present. */
  required?: string
}

const field = (name: string, value: RegExp): Rule => ({ name: exactly(name), value })
const required = (name: string, value: RegExp): Rule => ({ ...field(name, value), required: name })
const metadata = (prefix: string): Rule => ({
  name: new RegExp(`^${escaped(prefix)}\\[[^\\[\\]]{1,40}\\]$`),
  value: /^[\s\S]{0,500}$/,
})

const CURRENCY = /^[a-z]{3}$/
const POSITIVE = /^[1-9]\d*$/
const ADDRESS = /^https?:\/\/[^\s]{1,4990}$/
const EMAIL = /^[^@\s]{1,64}@[^@\s]+\.[^@\s]+$/

const LINE = 'line_items[0]'
const TRANSFER = 'payment_method_options[customer_balance]'

export const SESSION_RULES: readonly Rule[] = [
  required('mode', /^(?:payment|setup|subscription)$/),
  required('success_url', ADDRESS),
  field('cancel_url', ADDRESS),
  field('client_reference_id', /^.{1,200}$/),
  field('customer', /^cus_\w+$/),
  field('customer_email', EMAIL),
  field('customer_creation', /^(?:always|if_required)$/),
  required(`${LINE}[quantity]`, POSITIVE),
  required(`${LINE}[price_data][currency]`, CURRENCY),
  required(`${LINE}[price_data][unit_amount]`, POSITIVE),
  required(`${LINE}[price_data][product_data][name]`, /\S/),
  field('payment_intent_data[setup_future_usage]', /^(?:off|on)_session$/),
  field('payment_method_types[0]', /^customer_balance$/),
  field('payment_method_options[card][setup_future_usage]', /^(?:off|on)_session$/),
  field(`${TRANSFER}[funding_type]`, /^bank_transfer$/),
  field(`${TRANSFER}[bank_transfer][type]`, /^(?:eu|gb|us)_bank_transfer$/),
  field(`${TRANSFER}[bank_transfer][eu_bank_transfer][country]`, /^(?:BE|DE|ES|FR|IE|NL)$/),
  field('payment_intent_data[description]', /^[\s\S]{1,1000}$/),
  metadata('payment_intent_data[metadata]'),
  metadata('metadata'),
  field('expires_at', POSITIVE),
]

export const INTENT_RULES: readonly Rule[] = [
  required('amount', POSITIVE),
  required('currency', CURRENCY),
  field('customer', /^cus_\w+$/),
  field('payment_method', /^pm_\w+$/),
  field('off_session', /^(?:true|false)$/),
  field('confirm', /^(?:true|false)$/),
  required('automatic_payment_methods[enabled]', /^(?:true|false)$/),
  field('automatic_payment_methods[allow_redirects]', /^(?:always|never)$/),
  field('description', /^[\s\S]{1,1000}$/),
  metadata('metadata'),
]

export const CUSTOMER_RULES: readonly Rule[] = [
  field('email', EMAIL),
  field('name', /^[\s\S]{1,256}$/),
  metadata('metadata'),
]

export const REFUND_RULES: readonly Rule[] = [
  required('payment_intent', /^pi_\w+$/),
  field('amount', POSITIVE),
  field('reason', /^(?:duplicate|fraudulent|requested_by_customer)$/),
  metadata('metadata'),
]

/** The fields of a valid form, or Stripe's error about the first invalid one. */
export function readFields(text: string, rules: readonly Rule[]): Fields | FakeReply {
  const fields = new Map(new URLSearchParams(text))
  for (const [name, value] of fields) {
    const rule = rules.find((one) => one.name.test(name))
    if (!rule) return errorReply('parameter_unknown', name, `Received unknown parameter: ${name}`)
    if (value === '') return errorReply('parameter_invalid_empty', name, 'You passed an empty string.')
    if (!rule.value.test(value)) {
      const isEmail = name === 'customer_email'
      const code = isEmail ? 'email_invalid' : 'parameter_invalid'
      return errorReply(code, name, isEmail ? `Invalid email address: ${value}` : `Invalid ${name}: ${value}`)
    }
  }
  const missing = rules.find((rule) => rule.required !== undefined && !fields.has(rule.required))?.required
  if (missing) return errorReply('parameter_missing', missing, `Missing required param: ${missing}.`)
  return fields
}

const TRANSFER_TYPES: Readonly<Record<string, string>> = {
  eur: 'eu_bank_transfer',
  gbp: 'gb_bank_transfer',
  usd: 'us_bank_transfer',
}

/** The error for fields of a session that exclude or require each other. */
export function methodError(fields: Fields, currency: string, customers: ReadonlySet<string>) {
  if (fields.has('customer') && (fields.has('customer_email') || fields.has('customer_creation')))
    return errorReply(undefined, 'customer', 'You may only specify one of these: customer, customer_email.')
  if (fields.has('customer') && !customers.has(fields.get('customer') ?? ''))
    return errorReply('resource_missing', 'customer', 'No such customer.', 400)
  if (!fields.has('payment_method_types[0]')) return undefined
  if (!fields.has('customer')) return errorReply(undefined, 'customer', 'A transfer requires a customer.')
  if (fields.has('payment_intent_data[setup_future_usage]'))
    return errorReply(undefined, 'setup_future_usage', 'A transfer cannot be saved.')
  const type = fields.get(`${TRANSFER}[bank_transfer][type]`)
  const isComplete = type !== 'eu_bank_transfer' || fields.has(`${TRANSFER}[bank_transfer][${type}][country]`)
  return type === TRANSFER_TYPES[currency] && isComplete
    ? undefined
    : errorReply(undefined, 'payment_method_options', 'This transfer is not possible in the currency.')
}

// The error for a currency that Stripe does not support, or for an amount that it does not charge.
export function moneyError(currency: string, amount: string, param: string): FakeReply | undefined {
  if (currency === 'ghs' || currency === 'ssp')
    return errorReply(undefined, 'currency', `Invalid currency: ${currency}.`)
  if (currency === 'ugx' && !amount.endsWith('00'))
    return errorReply(undefined, param, 'Currency UGX must be evenly divisible by 100.')
  if (amount.length > 16) return errorReply('amount_too_large', param, 'Amount must be no more than that.')
  return undefined
}

export function errorReply(code: string | undefined, param: string, message: string, http = 400): FakeReply {
  return { http, body: { error: { type: 'invalid_request_error', code, param, message } } }
}

export function isReply(value: unknown): value is FakeReply {
  return typeof value === 'object' && value !== null && 'http' in value
}

function exactly(name: string): RegExp {
  return new RegExp(`^${escaped(name)}$`)
}

function escaped(name: string): string {
  return name.replaceAll(/[[\]]/g, '\\$&')
}
