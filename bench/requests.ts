// The requests of a measurement, as raw bytes.

import { randomUUID } from 'node:crypto'
import {
  CURRENCY,
  CUSTOMERS,
  type CustomerRef,
  customerRefOf,
  emailOf,
  FIRSTNAME,
  HOT_MERCHANT,
  idOf,
  LASTNAME,
  MERCHANTS,
  recurringTokenOf,
} from './population.ts'
import { apiKeyOf, SECRETS_ENV } from './seed.ts'

export const OPERATIONS = [
  'charges',
  'hotCharges',
  'initiates',
  'verify',
  'wallet',
  'customerList',
  'customerSearch',
  'bareRoute',
] as const
export type Operation = (typeof OPERATIONS)[number]
/** And the call that a charge makes to the provider. */
export type SentOperation = Operation | 'provider'

export interface WireRequest {
  bytes: string
  /** The id that the response acknowledges, where a record is created. */
  reference?: string
  /** The expected status of the response. */
  expectedStatus: number
}

/** A paid checkout to verify. */
export interface PaidPayment {
  merchant: number
  reference: string
}

/** A card that was saved over HTTP. */
export interface SavedCard {
  customer: number
  token: string
}

/** A merchant that was filled over HTTP. */
export interface FilledMerchant {
  key: string
  saved: readonly SavedCard[]
}

export interface RequestSource {
  host: string
  paid: readonly PaidPayment[]
  /** The merchants of a service that was filled over HTTP, instead of those that were seeded. */
  filled?: readonly FilledMerchant[]
}

const PATHS = {
  charges: '/api/v1/charges/recurring',
  initiates: '/api/v1/checkout/initiate-payment',
  verify: '/api/v1/checkout/verify-payment?reference=',
  wallet: '/api/v1/wallet/balance',
  customers: '/api/v1/customers?limit=20',
}

export function nextRequest(source: RequestSource, operation: SentOperation): WireRequest {
  switch (operation) {
    case 'charges':
      return source.filled
        ? savedChargeOf(source, randomBelow(source.filled.length))
        : chargeOf(source, customerRefOf(1 + randomBelow(CUSTOMERS)))
    case 'hotCharges':
      return chargeOf(source, customerRefOf(1 + CUSTOMERS + randomBelow(CUSTOMERS)))
    case 'initiates':
      return initiateOf(source, customerRefOf(1 + randomBelow(CUSTOMERS)))
    case 'verify':
      return verificationOf(source)
    case 'wallet':
      return get(source, 1 + randomBelow(MERCHANTS), PATHS.wallet)
    case 'customerList':
      return get(source, HOT_MERCHANT, PATHS.customers)
    case 'customerSearch':
      // The hot merchant has exactly one such customer.
      return get(
        source,
        HOT_MERCHANT,
        `${PATHS.customers}&search=customer-${1 + CUSTOMERS + randomBelow(CUSTOMERS)}`,
      )
    case 'bareRoute':
      return { bytes: `GET /bare HTTP/1.1\r\nhost: ${source.host}\r\n\r\n`, expectedStatus: 200 }
    case 'provider':
      return providerChargeOf(source)
  }
}

const randomBelow = (count: number) => Math.floor(Math.random() * count)

export function chargeOf(source: RequestSource, { merchant, customer }: CustomerRef): WireRequest {
  return post(source, merchant, PATHS.charges, chargeBodyOf(customer, recurringTokenOf(customer)))
}

function savedChargeOf(source: RequestSource, merchant: number): WireRequest {
  const { saved = [] } = source.filled?.[merchant] ?? {}
  const card = saved[randomBelow(saved.length)]
  if (!card) throw new Error('there is no saved card to charge')
  return post(source, merchant, PATHS.charges, chargeBodyOf(card.customer, card.token))
}

function chargeBodyOf(customer: number, recurringToken: string) {
  return {
    ...orderOf(customer),
    description: 'Subscription',
    metadata: { plan: 'monthly' },
    recurringToken,
  }
}

/** As the gateway sends it for a charge of a saved card. */
function providerChargeOf({ host }: RequestSource): WireRequest {
  const text = JSON.stringify({
    account: idOf('merchant', 1),
    order: randomUUID(),
    reference: `order-${randomUUID()}`,
    amount: '125050',
    currency: CURRENCY,
    country: null,
    description: 'Subscription',
    email: emailOf(1),
    token: `tok_${'1'.padStart(32, '0')}.card_success`,
  })
  const headers = [
    `host: ${host}`,
    `authorization: Bearer ${SECRETS_ENV.COWRY_SANDBOX_SECRET}`,
    'content-type: application/json',
    `idempotency-key: ${randomUUID()}`,
    `content-length: ${text.length}`,
  ]
  const bytes = `POST /v1/charges HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${text}`
  return { bytes, expectedStatus: 201 }
}

export function initiateOf(source: RequestSource, { merchant, customer }: CustomerRef): WireRequest {
  return post(source, merchant, PATHS.initiates, orderOf(customer))
}

function orderOf(customer: number) {
  return {
    reference: `order-${randomUUID()}`,
    amount: 1250.5,
    currency: CURRENCY,
    customer: { email: emailOf(customer), firstname: FIRSTNAME, lastname: LASTNAME },
  }
}

function verificationOf(source: RequestSource): WireRequest {
  const paid = source.paid[randomBelow(source.paid.length)]
  if (!paid) throw new Error('there is no paid payment to verify')
  return get(source, paid.merchant, PATHS.verify + paid.reference)
}

function get(source: RequestSource, merchant: number, path: string): WireRequest {
  const key = keyOf(source, merchant)
  const bytes = `GET ${path} HTTP/1.1\r\nhost: ${source.host}\r\nx-api-key: ${key}\r\n\r\n`
  return { bytes, expectedStatus: 200 }
}

function post(
  source: RequestSource,
  merchant: number,
  path: string,
  body: Record<string, unknown> & { reference: string },
): WireRequest {
  // All characters are ASCII, so the length in characters is that in bytes.
  const text = JSON.stringify(body)
  const key = keyOf(source, merchant)
  const headers = `host: ${source.host}\r\nx-api-key: ${key}\r\ncontent-type: application/json`
  const bytes = `POST ${path} HTTP/1.1\r\n${headers}\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  return { bytes, reference: body.reference, expectedStatus: 201 }
}

const keys = new Map<number, string>()

/** Cached: deriving a key costs more than the rest of a request. */
function keyOf({ filled }: RequestSource, merchant: number): string {
  if (filled) return filled[merchant % filled.length]?.key ?? ''
  const known = keys.get(merchant) ?? apiKeyOf(merchant)
  keys.set(merchant, known)
  return known
}
