// The connector on a fake provider, or on example responses, and a payment in Bangladesh.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Attempt, Gateway } from '../../../src/gateways/gateway.ts'
import { SSLCOMMERZ } from '../../../src/gateways/sslcommerz/index.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { STORE, startFakeSslcommerz, tranIdOf } from './fake.ts'

export const callbackUrl = callbackUrlAt(PUBLIC_URL, SSLCOMMERZ.name)
export const RETURN_URL = `${PUBLIC_URL}/pay/3f9a/return`
const CARD = { channel: 'card' } as const

export const ATTEMPT: Attempt = {
  key: '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b',
  operation: 'checkout',
  paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  merchantId: '0197a3c2-0000-7cc3-98c4-dc0c0c07398f',
  merchantName: 'Boi Ghar',
  reference: 'INV-1042',
  amount: money(125_050n, 'BDT'),
  country: 'BD',
  description: 'Two books & more',
  customer: { email: 'nusrat@example.com', firstname: 'Nusrat', lastname: 'Jahan', phone: '+8801712345678' },
  startedAt: systemClock.now(),
  expiresAt: null,
}

export function openOn(t: TestContext, baseUrl: string): Gateway {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  return SSLCOMMERZ.open({
    credentials: STORE,
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl,
  })
}

export async function startSslcommerz(t: TestContext) {
  const provider = await startFakeSslcommerz(t)
  const gateway = openOn(t, provider.server.url)
  const start = (attempt: Attempt) => gateway.startCheckout(attempt, CARD, RETURN_URL)
  const startNew = async () => {
    const attempt = { ...ATTEMPT, key: randomUUID() }
    const started = await start(attempt)
    if (started.kind !== 'started') throw new Error('the fake provider accepts the checkout')
    return { attempt, reference: started.gatewayReference }
  }
  return { provider, gateway, start, startNew }
}

/** The connector on a provider with these responses. */
export async function replay(t: TestContext, answer: (request: FakeRequest) => unknown) {
  const server = await startFakeServer(t, async (request): Promise<FakeReply> => {
    const body = answer(request)
    return body === undefined ? { http: 404, body: '<html></html>' } : { http: 200, body }
  })
  return openOn(t, server.url)
}

/** An example response, about ATTEMPT. */
export function readFixture(name: string) {
  const text = readFileSync(path.join(import.meta.dirname, 'fixtures', `${name}.json`), 'utf8')
  return JSON.parse(text.replaceAll('@TRAN_ID@', tranIdOf(ATTEMPT.key)))
}
