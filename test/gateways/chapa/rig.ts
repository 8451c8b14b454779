// The connector on a fake provider, or on one recorded response.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import { CHAPA } from '../../../src/gateways/chapa/index.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type { Attempt, CheckoutChoice, Gateway } from '../../../src/gateways/gateway.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { type FakeReply, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { FAKE_SECRET_KEY, FAKE_WEBHOOK_SECRET, startFakeChapa } from './fake.ts'

export const RETURN_URL = `${PUBLIC_URL}/pay/return`
export const MOBILE_MONEY: CheckoutChoice = { channel: 'mobile_money' }

export const ATTEMPT: Attempt = {
  // The tx_ref in the recorded responses.
  key: '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b',
  operation: 'checkout',
  paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  merchantId: '0197a3c2-0000-7cc3-98c4-dc0c0c07398f',
  merchantName: 'Tsehay & Co. (Bole)',
  reference: 'INV-1042',
  amount: money(12_550n, 'ETB'),
  country: 'ET',
  description: 'Two “books”, 50% off',
  customer: { email: 'bilen.gizachew@example.com', firstname: 'Bilen', lastname: 'Gizachew' },
  startedAt: systemClock.now(),
  expiresAt: null,
}

export function openOn(t: TestContext, baseUrl: string, changes: Partial<Connection> = {}): Gateway {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  return CHAPA.open({
    credentials: { secretKey: FAKE_SECRET_KEY, webhookSecret: FAKE_WEBHOOK_SECRET },
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, 'chapa'),
    ...changes,
  })
}

export async function startChapa(t: TestContext, changes: Partial<Connection> = {}) {
  const provider = await startFakeChapa(t)
  const gateway = openOn(t, provider.server.url, changes)
  const makeAttempt = (given: Partial<Attempt> = {}): Attempt => ({
    ...ATTEMPT,
    key: randomUUID(),
    ...given,
  })
  const start = (attempt: Attempt) => gateway.startCheckout(attempt, MOBILE_MONEY, RETURN_URL)
  return { provider, gateway, makeAttempt, start }
}

/** The connector on a provider with one recorded response to every request. */
export async function replay(t: TestContext, reply: FakeReply): Promise<Gateway> {
  const server = await startFakeServer(t, async () => reply)
  return openOn(t, server.url)
}

export function readFixture(name: string) {
  return JSON.parse(readFileSync(path.join(import.meta.dirname, 'fixtures', `${name}.json`), 'utf8'))
}
