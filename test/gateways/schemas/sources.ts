// The providers' own descriptions of their APIs, and which operations of them our connectors call. The extracts beside
// this file are written from them (npm run gateways:schemas).

import type { CalledOperation, Correction } from './extract.ts'

export interface Source {
  provider: string
  /** Where the description is published. */
  address: string
  /** The commit or the version that was read, and its date. */
  revision: string
  date: string
  /** With its copyright notice, which an extract must repeat. */
  license: string
  operations: readonly CalledOperation[]
  corrections?: readonly Correction[]
}

const SESSION = [
  'payment_intent.payment_method.card',
  'payment_intent.payment_method.link',
  'payment_intent.payment_method.sepa_debit',
  'payment_intent.last_payment_error',
  'error.payment_intent.last_payment_error',
]
const INTENT = ['last_payment_error', 'error.payment_intent.last_payment_error']
const ERROR = ['error']

const STRIPE_OPERATIONS: readonly CalledOperation[] = [
  {
    method: 'POST',
    path: '/v1/checkout/sessions',
    sends: [
      'line_items.price_data.product_data',
      'payment_intent_data',
      'payment_method_options.card',
      'payment_method_options.customer_balance.bank_transfer.eu_bank_transfer',
    ],
    reads: SESSION,
  },
  { method: 'GET', path: '/v1/checkout/sessions/{session}', reads: SESSION },
  { method: 'POST', path: '/v1/checkout/sessions/{session}/expire', reads: SESSION },
  { method: 'POST', path: '/v1/payment_intents', sends: ['automatic_payment_methods'], reads: INTENT },
  { method: 'GET', path: '/v1/payment_intents', reads: ERROR },
  { method: 'GET', path: '/v1/payment_intents/{intent}', reads: INTENT },
  { method: 'POST', path: '/v1/refunds', reads: ERROR },
  { method: 'GET', path: '/v1/refunds', sends: ['created'], reads: ['data', ...ERROR] },
  { method: 'GET', path: '/v1/refunds/{refund}', reads: ERROR },
  { method: 'POST', path: '/v1/customers', reads: ERROR },
  { method: 'GET', path: '/v1/charges/{charge}', reads: ERROR },
  { method: 'GET', path: '/v1/disputes', reads: ['data', ...ERROR] },
  { method: 'GET', path: '/v1/balance', reads: ERROR },
  { method: 'GET', path: '/v1/account', reads: ERROR },
  { method: 'GET', path: '/v1/checkout/sessions', reads: ERROR },
  { method: 'GET', path: '/v1/customers', reads: ERROR },
  { method: 'GET', path: '/v1/webhook_endpoints', reads: ['data', ...ERROR] },
]

const TRANSACTION = ['data.authorization', 'data.customer']

const NEWER_CHANNEL = "Paystack's newer documentation lists it among the channels; the description does not."

/** By the name of the extract. */
export const SOURCES: Readonly<Record<string, Source>> = {
  // The version that the connector pins.
  'stripe-2023-08-16': {
    provider: 'stripe',
    address: 'https://github.com/stripe/openapi (openapi/spec3.yaml)',
    revision: '96f3704c1cecde3e637d17bc3a758e716ec24bc1',
    date: '2023-09-13',
    license: 'MIT, Copyright (c) 2011- Stripe, Inc. (https://stripe.com)',
    operations: STRIPE_OPERATIONS,
  },
  // A newer one: our requests must stay valid when the pin moves.
  'stripe-2026-08-26': {
    provider: 'stripe',
    address: 'https://github.com/stripe/stripe-mock (embedded/openapi/spec3.json)',
    revision: 'v0.203.0',
    date: '2026-08-26',
    license: 'MIT, Copyright (c) 2014- Stripe, Inc. (https://stripe.com)',
    operations: STRIPE_OPERATIONS,
  },
  paystack: {
    provider: 'paystack',
    address: 'https://github.com/PaystackOSS/openapi (dist/paystack.yaml)',
    revision: '9678dea922a900b2485969592055ccf634460352',
    date: '2025-10-24',
    license: 'MIT, Copyright (c) 2022 PaystackOSS',
    operations: [
      { method: 'POST', path: '/transaction/initialize', reads: ['data'] },
      { method: 'POST', path: '/transaction/charge_authorization', reads: TRANSACTION },
      { method: 'POST', path: '/charge', sends: ['mobile_money'], reads: TRANSACTION },
      { method: 'GET', path: '/transaction/verify/{reference}', reads: TRANSACTION },
      { method: 'POST', path: '/refund', reads: ['data.transaction'] },
      { method: 'GET', path: '/refund', reads: ['data.transaction'] },
      { method: 'GET', path: '/refund/{id}', reads: ['data.transaction'] },
      { method: 'GET', path: '/dispute/transaction/{id}', reads: ['data.transaction'] },
      { method: 'GET', path: '/balance', reads: ['data'] },
      { method: 'GET', path: '/integration/payment_session_timeout', reads: ['data'] },
    ],
    corrections: [
      {
        field: 'currency',
        adds: 'XOF',
        why: 'Paystack collects XOF in Côte d’Ivoire; its description lists only the older currencies.',
      },
      { field: 'channels', adds: 'apple_pay', why: NEWER_CHANNEL },
      { field: 'channels', adds: 'capitec_pay', why: NEWER_CHANNEL },
      {
        operation: 'POST /charge',
        field: 'currency',
        schema: { type: 'string', enum: ['GHS', 'KES', 'NGN', 'XOF'] },
        why: "Every example of a charge in Paystack's documentation has it; the description does not.",
      },
      {
        operation: 'POST /charge',
        field: 'bank_transfer',
        schema: {
          type: 'object',
          properties: { account_expires_at: { type: 'string' } },
          required: ['account_expires_at'],
        },
        why: "Paystack's documentation of transfers has it; the description does not.",
      },
    ],
  },
}

/** Connectors without an extract, and why. Nothing is claimed about their fields. */
export const WITHOUT_DESCRIPTION: Readonly<Record<string, string>> = {
  daraja: 'Safaricom publishes no description of the API; its portal has pages only.',
  flutterwave:
    'No copy of the description of v3 (https://developer.flutterwave.com/api/v3/openapi.json) was available that may be redistributed.',
  mtn_momo: 'The description that the portal of MTN offers has no paths.',
  chapa:
    'Chapa publishes pages (https://developer.chapa.co), and no description in a form that programs read.',
  bkash:
    'bKash publishes pages (https://developer.bka.sh/docs), and no description in a form that programs read.',
  paymob:
    'Paymob publishes pages (https://developers.paymob.com), and no description in a form that programs read.',
  sslcommerz:
    'SSLCommerz publishes pages (https://developer.sslcommerz.com), and no description in a form that programs read.',
  wave: 'Wave publishes pages (https://docs.wave.com/checkout), and no description in a form that programs read.',
  pawapay:
    'No copy of the description of v2 (https://docs.pawapay.io/v2/api-reference/openapi_v2.yaml) was available that may be redistributed.',
}
