// Valid request bodies, of which tests change one field at a time, and helpers that save a payment method.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Api } from './api.ts'

export const CUSTOMER = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }

export function newReference(): string {
  return `ref-${randomUUID()}`
}

export function initiateBody(changes: Record<string, unknown> = {}) {
  return { amount: 1250.5, currency: 'KES', reference: newReference(), customer: CUSTOMER, ...changes }
}

export function chargeBody(recurringToken: string, changes: Record<string, unknown> = {}) {
  return {
    reference: newReference(),
    customer: CUSTOMER,
    metadata: {},
    currency: 'KES',
    amount: 100,
    recurringToken,
    description: 'Again',
    ...changes,
  }
}

/** A payment that was paid with the instrument, as the complete endpoint returns it. */
export async function payWith(api: Api, instrument: string, changes: Record<string, unknown> = {}) {
  const body = initiateBody(changes)
  const initiated = await api.post('/api/v1/checkout/initiate-payment', body)
  assert.equal(initiated.http, 201, initiated.text)
  const path = `/api/v1/sandbox/payments/${encodeURIComponent(body.reference)}/complete`
  const completed = await api.post(path, { instrument })
  assert.equal(completed.http, 200, completed.text)
  return completed.body.data
}

/** The recurring token of a method that was saved by paying with the instrument. */
export async function saveMethod(
  api: Api,
  instrument: string,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const payment = await payWith(api, instrument, changes)
  assert.match(payment.paymentMethod?.recurringToken ?? '', /^rtk_/)
  return payment.paymentMethod.recurringToken
}
