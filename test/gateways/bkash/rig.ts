// The connector on a fake provider, and a payment in Bangladesh.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import { BKASH } from '../../../src/gateways/bkash/index.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type { Attempt, Gateway } from '../../../src/gateways/gateway.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { CREDENTIALS, startFakeBkash, TOKEN_PATH } from './fake.ts'

export const RETURN_URL = `${PUBLIC_URL}/checkout/3f9a/return`

export function openOn(t: TestContext, baseUrl: string, changes: Partial<Connection> = {}): Gateway {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  return BKASH.open({
    credentials: CREDENTIALS,
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, BKASH.name),
    ...changes,
  })
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    key: randomUUID(),
    operation: 'checkout',
    paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
    merchantId: '0197a3c2-0000-7cc3-98c4-dc0c0c07398f',
    merchantName: 'Boi Ghar',
    reference: 'A-1042 <&>',
    amount: money(125_050n, 'BDT'),
    country: 'BD',
    description: 'Two books',
    customer: { email: 'rahim.uddin@example.com', firstname: 'Rahim', lastname: 'Uddin' },
    startedAt: systemClock.now(),
    expiresAt: null,
    ...changes,
  }
}

export async function startBkash(t: TestContext, changes: Partial<Connection> = {}) {
  const provider = await startFakeBkash(t)
  const gateway = openOn(t, provider.server.url, changes)
  const start = (attempt: Attempt) => gateway.startCheckout(attempt, { channel: 'mobile_money' }, RETURN_URL)
  const startNew = async () => {
    const attempt = makeAttempt()
    const started = await start(attempt)
    if (started.kind !== 'started') throw new Error('the fake provider accepts the checkout')
    return { attempt, reference: started.gatewayReference }
  }
  return { provider, gateway, start, startNew }
}

/** The connector on a provider that grants tokens, and answers everything else like this. */
export async function replay(t: TestContext, reply: FakeReply | ((request: FakeRequest) => FakeReply)) {
  const granted: FakeReply = {
    http: 200,
    body: { statusCode: '0000', id_token: 'a-token', expires_in: 3_600 },
  }
  const answer = (request: FakeRequest) => (typeof reply === 'function' ? reply(request) : reply)
  const server = await startFakeServer(t, async (request) =>
    TOKEN_PATH.test(request.path) ? granted : answer(request),
  )
  return { server, gateway: openOn(t, server.url) }
}
