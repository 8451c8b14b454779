// The connector opened on a fake Stripe or on a server with one fixed response, with a clock that the test controls.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Attempt, CheckoutChoice, Gateway, RefundRequest } from '../../../src/gateways/gateway.ts'
import { STRIPE } from '../../../src/gateways/stripe/index.ts'
import { addMs, type Clock, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { type FakeReply, type FakeServer, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { requestIssues } from '../schemas/requests.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { FAKE_SECRET_KEY, FAKE_WEBHOOK_SECRET, type FakeStripe, startFakeStripe } from './fake.ts'

export const CREDENTIALS = { secretKey: FAKE_SECRET_KEY, webhookSecret: FAKE_WEBHOOK_SECRET }
export const CARD: CheckoutChoice = { channel: 'card' }
export const RETURN_URL = `${PUBLIC_URL}/pay/return`
/** The key of the objects in fixtures/. */
export const FIXTURE_KEY = '3f0c8f52-6f0e-4f0b-9a55-0d9b1f1c2a77'

export interface TestClock extends Clock {
  move(ms: number): void
}

export function createTestClock(at = systemClock.now()): TestClock {
  let now = at
  return {
    now: () => now,
    sleep: async () => {},
    move: (ms) => {
      now = addMs(now, ms)
    },
  }
}

export interface StripeRig {
  provider: FakeStripe
  gateway: Gateway
  clock: TestClock
}

export async function startStripe(t: TestContext): Promise<StripeRig> {
  const clock = createTestClock()
  const provider = await startFakeStripe(t, clock)
  return { provider, gateway: openOn(t, provider.server, clock), clock }
}

/** The connector on a server with one response to every request. */
export async function startFixedReply(t: TestContext, reply: FakeReply): Promise<Gateway> {
  const server = await startFakeServer(t, async () => reply, { issuesOf: requestIssues('stripe') })
  return openOn(t, server, createTestClock())
}

export function openOn(
  t: TestContext,
  { url }: Pick<FakeServer, 'url'>,
  clock: Clock,
  credentials: Record<string, string> = CREDENTIALS,
): Gateway {
  const http = createHttpClient()
  cleanUp(t, () => http.close())
  return STRIPE.open({
    credentials,
    baseUrl: url,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, 'stripe'),
  })
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  const startedAt = changes.startedAt ?? systemClock.now()
  return {
    key: randomUUID(),
    operation: 'checkout',
    paymentId: randomUUID(),
    merchantId: randomUUID(),
    merchantName: 'Duka La Vitabu',
    reference: 'A-1042',
    amount: money(125_050n, 'KES'),
    country: 'KE',
    description: 'Two books',
    customer: { email: 'amina@example.com', firstname: 'Amina', lastname: 'Otieno' },
    startedAt,
    expiresAt: addMs(startedAt, 3_600_000),
    ...changes,
  }
}

export function makeCharge(changes: Partial<Attempt> = {}): Attempt {
  return makeAttempt({ operation: 'charge', expiresAt: null, ...changes })
}

export function makeRefund(changes: Partial<RefundRequest> = {}): RefundRequest {
  return {
    key: randomUUID(),
    attemptKey: FIXTURE_KEY,
    attemptReference: 'pi_3Nn2intent0000000000000001',
    amount: money(125_050n, 'KES'),
    isFull: true,
    ...changes,
  }
}

/** Texts that the fixtures' messages quote, and that must not appear in our messages. */
export const QUOTED = /amina|@|sk_test|pm_1Nn2|4242|made up/

/** The body of a validation error. */
export function invalid(changes: object = {}): object {
  return { error: { type: 'invalid_request_error', message: 'No.', ...changes } }
}
