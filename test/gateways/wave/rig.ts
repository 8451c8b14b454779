// The connector on a fake provider, or on one recorded response.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type { Attempt, CheckoutChoice, Gateway } from '../../../src/gateways/gateway.ts'
import { WAVE } from '../../../src/gateways/wave/index.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { type FakeReply, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { FAKE_API_KEY, FAKE_WEBHOOK_SECRET, startFakeWave } from './fake.ts'

export const RETURN_URL = `${PUBLIC_URL}/pay/return`
export const MOBILE_MONEY: CheckoutChoice = { channel: 'mobile_money' }

export const ATTEMPT: Attempt = {
  // The client reference in the recorded responses.
  key: '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b',
  operation: 'checkout',
  paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  merchantId: '0197a3c2-0000-7cc3-98c4-dc0c0c07398f',
  merchantName: 'Ma Boutique',
  reference: 'CMD-1042',
  amount: money(5_000n, 'XOF'),
  country: 'SN',
  description: 'Deux livres',
  customer: { email: 'awa.diop@example.com', firstname: 'Awa', lastname: 'Diop' },
  startedAt: systemClock.now(),
  expiresAt: null,
}

export function openOn(t: TestContext, baseUrl: string, changes: Partial<Connection> = {}): Gateway {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  return WAVE.open({
    credentials: { apiKey: FAKE_API_KEY, webhookSecret: FAKE_WEBHOOK_SECRET },
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, 'wave'),
    ...changes,
  })
}

export async function startWave(t: TestContext, changes: Partial<Connection> = {}) {
  const provider = await startFakeWave(t)
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
