// The state and the responses of the fake Paystack, shared by its parts.

import { readFileSync } from 'node:fs'
import type { FakeReply } from '../fake-server.ts'

// Fixtures are JSON objects; each test knows the content of its own.
export type Json = Record<string, unknown>

export function readFixture(name: string): Json {
  return JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'))
}

/** The data of a fixture with some values replaced. */
export function fixtureReply(name: string, changes: Json = {}): FakeReply {
  const { data, ...envelope } = readFixture(name)
  return { http: 200, body: { ...envelope, data: { ...Object(data), ...changes } } }
}

export function errorReply(http: number, message: string, more: Json = {}): FakeReply {
  return { http, body: { status: false, message, ...more } }
}

/** A payment in Paystack's state. */
export interface FakePayment {
  id: number
  /** As reported; a test may let it differ from the key of the map. */
  reference: string
  status: string
  /** Hundredths in every currency. */
  amount: number
  requestedAmount: number
  currency: string
  email: string
  gatewayResponse: string
  paidAt: string | null
  executions: number
  /** What differs in the authorization of a direct charge, which cannot be charged again. */
  direct?: { channel: string; reusable: false }
  /** The latest last. */
  disputes: { id: number; status: string; resolution: string | null }[]
}

export type Check = (value: unknown) => boolean

export const isText: Check = (value) => typeof value === 'string' && value !== ''
export const isObject: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A validation error if a field is missing, unknown or of the wrong type. */
export function validationError(
  body: Json,
  fields: Record<string, Check>,
  required: readonly string[],
): FakeReply | undefined {
  const missing = required.find((name) => !(name in body))
  const [wrong] = Object.entries(body).find(([name, value]) => !fields[name]?.(value)) ?? []
  const named = missing ?? wrong
  if (named === undefined) return undefined
  return errorReply(400, `${named} is invalid`, { type: 'validation_error', code: 'invalid_params' })
}
