// The merchants and customers of a measurement. Ids are computed, so that the load driver, the seed and pgbench scripts
// name the same rows without communication.

import { createHash } from 'node:crypto'

/** Numbered from 1; the next one is the hot merchant, which has as many customers as all others together. */
export const MERCHANTS = 1_000
export const HOT_MERCHANT = MERCHANTS + 1
export const CUSTOMERS = 5_000

export const CURRENCY = 'KES'
export const FIRSTNAME = 'Amina'
export const LASTNAME = 'Odhiambo'

export interface CustomerRef {
  merchant: number
  /** From 1 to CUSTOMERS for those of the many merchants, and then those of the hot one. */
  customer: number
}

export function customerRefOf(customer: number): CustomerRef {
  return { merchant: customer > CUSTOMERS ? HOT_MERCHANT : 1 + ((customer - 1) % MERCHANTS), customer }
}

const KINDS = { merchant: '8001', customer: '8002', method: '8003' } as const

/** The first part of the ids of a kind; the rest is the number, in twelve hexadecimal digits. */
export function idPrefix(kind: keyof typeof KINDS): string {
  return `00000000-0000-7000-${KINDS[kind]}-`
}

export function idOf(kind: keyof typeof KINDS, number: number): string {
  return idPrefix(kind) + number.toString(16).padStart(12, '0')
}

export function emailOf(customer: number): string {
  return `customer-${customer}@example.com`
}

export function recurringTokenOf(customer: number): string {
  return `rtk_${String(customer).padStart(43, '0')}`
}

/** Twelve characters, as ids of keys are. */
export function keyIdOf(merchant: number): string {
  return `bench${String(merchant).padStart(7, '0')}`
}

/** Secrets of a temporary database: derived from the number, so that every process can compute them. */
export function keySecretOf(merchant: number): string {
  const digits = createHash('sha256').update(`bench ${merchant}`).digest('hex')
  return digits.slice(0, 43)
}
