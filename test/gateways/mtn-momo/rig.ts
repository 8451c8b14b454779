// The connector on a fake provider, and a payment in Ghana.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Connection, GatewayDefinition } from '../../../src/gateways/definition.ts'
import type { Attempt, CheckoutChoice, Gateway } from '../../../src/gateways/gateway.ts'
import { MTN_MOMO } from '../../../src/gateways/mtn-momo/index.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { CREDENTIALS, startFakeMomo, TOKEN_PATH } from './fake.ts'

export const CHOICE: CheckoutChoice = { channel: 'mobile_money', phone: '+233241234567', network: 'mtn_gh' }

export const CONSENT = {
  agreedAt: '2026-11-17T03:00:00.000Z',
  source: 'checkout',
  form: 'notice',
  wordingVersion: '1',
  language: 'en',
} as const

export const callbackUrl = callbackUrlAt(PUBLIC_URL, MTN_MOMO.name)

export function openOn(
  t: TestContext,
  baseUrl: string,
  changes: Partial<Connection> = {},
  definition: Pick<GatewayDefinition, 'open'> = MTN_MOMO,
): Gateway {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  return definition.open({
    credentials: CREDENTIALS,
    baseUrl,
    mode: 'live',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl,
    ...changes,
  })
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    key: randomUUID(),
    operation: 'checkout',
    paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
    merchantId: '0197a3c2-0000-7cc3-98c4-dc0c0c07398f',
    merchantName: 'Duka La Vitabu',
    reference: 'A-1042',
    amount: money(125_050n, 'GHS'),
    country: 'GH',
    description: 'Two books',
    customer: { email: 'ama.mensah@example.com', firstname: 'Ama', lastname: 'Mensah' },
    startedAt: systemClock.now(),
    expiresAt: null,
    ...changes,
  }
}

export async function startMomo(t: TestContext, changes: Partial<Connection> = {}) {
  const provider = await startFakeMomo(t)
  const gateway = openOn(t, provider.server.url, changes)
  const start = (attempt: Attempt) => gateway.startCheckout(attempt, CHOICE, `${PUBLIC_URL}/pay/return`)
  return { provider, gateway, start }
}

/** The connector on a provider that grants tokens, and answers everything else like this. */
export async function replay(t: TestContext, reply: FakeReply | ((request: FakeRequest) => FakeReply)) {
  const granted: FakeReply = { http: 200, body: { access_token: 'a-token', expires_in: 3_600 } }
  const answer = (request: FakeRequest) => (typeof reply === 'function' ? reply(request) : reply)
  const server = await startFakeServer(t, async (request) =>
    TOKEN_PATH.test(request.path) ? granted : answer(request),
  )
  return { server, gateway: openOn(t, server.url) }
}
