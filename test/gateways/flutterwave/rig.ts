// The connector on the fake Flutterwave, or on a server with fixed responses.

import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import { FLUTTERWAVE } from '../../../src/gateways/flutterwave/index.ts'
import type { Attempt, Gateway, Outcome } from '../../../src/gateways/gateway.ts'
import { type Clock, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { type Json, readFixture, SECRET_KEY, startFakeFlutterwave, WEBHOOK_HASH } from './fake.ts'

type Test = Pick<TestContext, 'after'>
export type Flutterwave = Required<Omit<Gateway, 'cancel'>>

export const NOW = new Date('2026-11-15T09:30:00.000Z')
export const RETURN_URL = 'https://pay.example.com/pay/abc/return'
export const EMAIL = 'amina.otieno@example.com'
/** The reference of the fixtures. */
export const FIXTURE_KEY = '0b0e9f5e-3f0c-4b53-8c57-5f2f6f6f5a11'
export const TOKEN = 'flw-t1nf-2b8d0c6e4f7a4c1d9e3b5a7f8c6d4e2a-m03k'
export const CREDENTIAL = JSON.stringify({ token: TOKEN, email: EMAIL })

export const CREDENTIALS = { secretKey: SECRET_KEY, webhookHash: WEBHOOK_HASH }

export function clockAt(now: Date): Clock {
  return { ...systemClock, now: () => now }
}

export function openFlutterwave(
  t: Test,
  baseUrl: string,
  {
    clock = clockAt(NOW),
    credentials = CREDENTIALS,
  }: { clock?: Clock; credentials?: Record<string, string> } = {},
): Flutterwave {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  const publicUrl = () => 'https://pay.example.com'
  const callbackUrl = callbackUrlAt(publicUrl(), FLUTTERWAVE.name)
  const gateway = FLUTTERWAVE.open({
    credentials,
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock,
    publicUrl,
    callbackUrl,
  })
  // A boundary: these tests rely on operations that are optional in the contract.
  return gateway as Flutterwave
}

export async function startFlutterwave(t: Test, more: Record<string, string> = {}) {
  const provider = await startFakeFlutterwave(t)
  const { server } = provider
  const credentials = { ...CREDENTIALS, ...more }
  return { provider, server, gateway: openFlutterwave(t, server.url, { credentials }) }
}

/** A server with one response to every request, or with a response function. */
export async function startFixedServer(
  t: Test,
  reply: FakeReply | ((request: FakeRequest) => FakeReply),
  clock: Clock = clockAt(NOW),
) {
  const server = await startFakeServer(t, async (request) =>
    typeof reply === 'function' ? reply(request) : reply,
  )
  return { server, gateway: openFlutterwave(t, server.url, { clock }) }
}

/** The outcome of verify for a response; text is sent as it is. */
export async function verifyAnswer(
  t: Test,
  reply: FakeReply,
  changes: Partial<Attempt> = {},
): Promise<Outcome> {
  const { gateway } = await startFixedServer(t, reply)
  return gateway.verify(makeAttempt(changes), null)
}

/** A good response with some data replaced. */
export function altered(name: string, changes: Json = {}): FakeReply {
  const { data, ...envelope } = readFixture(name)
  return { http: 200, body: { ...envelope, data: { ...Object(data), ...changes } } }
}

export function errorReply(message: string, http = 400): FakeReply {
  return { http, body: { status: 'error', message, data: null } }
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    key: FIXTURE_KEY,
    operation: 'checkout',
    paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
    merchantId: '0197a3c2-7d51-7cc3-98c4-dc0c0c073990',
    merchantName: 'Duka La Vitabu',
    reference: 'A-1042 & more',
    amount: money(125_050n, 'NGN'),
    country: 'NG',
    description: 'Two books',
    customer: { email: EMAIL, firstname: 'Amina', lastname: 'Otieno' },
    startedAt: NOW,
    expiresAt: new Date('2026-11-15T10:29:30.000Z'),
    ...changes,
  }
}
