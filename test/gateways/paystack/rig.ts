// The connector on a fake Paystack, or on a server with one fixed response.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Attempt, Gateway, Outcome, StatusQuery } from '../../../src/gateways/gateway.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { type Clock, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { requestIssues } from '../schemas/requests.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from './fake.ts'
import { readFixture } from './fake-replies.ts'

type Test = Pick<TestContext, 'after'>

export const RETURN_URL = 'https://pay.example.com/c/abc/return'
export const EMAIL = 'amina.otieno@example.com'
/** The reference of the fixtures. */
export const FIXTURE_KEY = '3f0c2a52-6a1e-4f0b-9d3e-0a4c55d1b7e2'
export const CREDENTIAL = JSON.stringify({ authorization_code: 'AUTH_8dfhjjdt', email: EMAIL })

export function openPaystack(
  t: Test,
  baseUrl: string,
  clock: Clock = systemClock,
  credentials: Record<string, string> = {},
): Required<Omit<Gateway, 'cancel'>> {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  const gateway = PAYSTACK.open({
    credentials: { secretKey: FAKE_SECRET_KEY, ...credentials },
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock,
    publicUrl: () => 'https://pay.example.com',
    callbackUrl: callbackUrlAt('https://pay.example.com', 'paystack'),
  })
  // A boundary: these tests rely on operations that are optional in the contract.
  return gateway as ReturnType<typeof openPaystack>
}

export async function startPaystack(t: Test, credentials: Record<string, string> = {}) {
  const paystack = await startFakePaystack(t)
  const { server } = paystack
  return { paystack, server, gateway: openPaystack(t, server.url, systemClock, credentials) }
}

/** A server with one response to every request. */
export async function startFixedServer(
  t: Test,
  reply: FakeReply | ((request: FakeRequest) => FakeReply),
  clock?: Clock,
) {
  const server = await startFakeServer(
    t,
    async (request) => (typeof reply === 'function' ? reply(request) : reply),
    { issuesOf: requestIssues('paystack') },
  )
  return { server, gateway: openPaystack(t, server.url, clock) }
}

/** The outcome of verify for a response; text is sent as it is. */
export async function verifyAnswer(
  t: Test,
  body: unknown,
  http = 200,
  changes: Partial<Attempt & StatusQuery> = {},
): Promise<Outcome> {
  const { gateway } = await startFixedServer(t, { http, body })
  return gateway.verify(makeAttempt({ key: FIXTURE_KEY, ...changes }), null)
}

/** A fixture with some data replaced. */
export function altered(name: string, changes: Record<string, unknown>) {
  const { data, ...envelope } = readFixture(name)
  return { ...envelope, data: { ...Object(data), ...changes } }
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    key: randomUUID(),
    operation: 'checkout',
    paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
    merchantId: randomUUID(),
    merchantName: 'Duka La Vitabu',
    reference: 'A-1042 & more',
    amount: money(125_050n, 'NGN'),
    country: 'NG',
    description: 'Two books',
    customer: { email: EMAIL, firstname: 'Amina', lastname: 'Otieno' },
    startedAt: systemClock.now(),
    expiresAt: null,
    ...changes,
  }
}
