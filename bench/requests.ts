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
  LASTNAME,
  MERCHANTS,
  recurringTokenOf,
} from './population.ts'
import { apiKeyOf } from './seed.ts'

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

export interface RequestSource {
  host: string
  paid: readonly PaidPayment[]
}

const PATHS = {
  charges: '/api/v1/charges/recurring',
  initiates: '/api/v1/checkout/initiate-payment',
  verify: '/api/v1/checkout/verify-payment?reference=',
  wallet: '/api/v1/wallet/balance',
  customers: '/api/v1/customers?limit=20',
}

export function nextRequest(source: RequestSource, operation: Operation): WireRequest {
  switch (operation) {
    case 'charges':
      return chargeOf(source, customerRefOf(1 + randomBelow(CUSTOMERS)))
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
  }
}

const randomBelow = (count: number) => Math.floor(Math.random() * count)

export function chargeOf(source: RequestSource, { merchant, customer }: CustomerRef): WireRequest {
  return post(source, merchant, PATHS.charges, {
    ...orderOf(customer),
    description: 'Subscription',
    metadata: { plan: 'monthly' },
    recurringToken: recurringTokenOf(customer),
  })
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

function get({ host }: RequestSource, merchant: number, path: string): WireRequest {
  const bytes = `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${keyOf(merchant)}\r\n\r\n`
  return { bytes, expectedStatus: 200 }
}

function post(
  { host }: RequestSource,
  merchant: number,
  path: string,
  body: Record<string, unknown> & { reference: string },
): WireRequest {
  // All characters are ASCII, so the length in characters is that in bytes.
  const text = JSON.stringify(body)
  const headers = `host: ${host}\r\nx-api-key: ${keyOf(merchant)}\r\ncontent-type: application/json`
  const bytes = `POST ${path} HTTP/1.1\r\n${headers}\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  return { bytes, reference: body.reference, expectedStatus: 201 }
}

const keys = new Map<number, string>()

/** Cached: deriving a key costs more than the rest of a request. */
function keyOf(merchant: number): string {
  const known = keys.get(merchant) ?? apiKeyOf(merchant)
  keys.set(merchant, known)
  return known
}
