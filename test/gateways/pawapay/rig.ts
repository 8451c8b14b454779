// The connector on a fake provider, with a clock that the test controls.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Connection } from '../../../src/gateways/definition.ts'
import type { Attempt, CheckoutChoice, Gateway } from '../../../src/gateways/gateway.ts'
import { PAWAPAY } from '../../../src/gateways/pawapay/index.ts'
import { addMs, type Clock, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { type FakeReply, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { API_TOKEN, startFakePawapay } from './fake.ts'
import { PAWAPAY_KEYS } from './fake-callbacks.ts'

export const RETURN_URL = `${PUBLIC_URL}/pay/return`
/** On pawaPay's page. */
export const MOBILE_MONEY: CheckoutChoice = { channel: 'mobile_money' }
/** On our page. */
export const PROMPT: CheckoutChoice = { channel: 'mobile_money', phone: '+260763456789', network: 'mtn_zm' }

/** The id in the recorded responses. */
export const RECORDED_KEY = '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b'

export interface TestClock extends Clock {
  move(minutes: number): void
}

export function createTestClock(start: Date = systemClock.now()): TestClock {
  let now = start
  return {
    now: () => now,
    sleep: systemClock.sleep,
    move: (minutes) => {
      now = addMs(now, minutes * 60_000)
    },
  }
}

export function openOn(t: TestContext, baseUrl: string, changes: Partial<Connection> = {}): Gateway {
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  return PAWAPAY.open({
    credentials: { apiToken: API_TOKEN, publicKey: PAWAPAY_KEYS.publicKey },
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, 'pawapay'),
    ...changes,
  })
}

export async function startPawapay(t: TestContext) {
  const clock = createTestClock()
  const provider = await startFakePawapay(t)
  const gateway = openOn(t, provider.server.url, { clock })
  const makeAttempt = (changes: Partial<Attempt> = {}): Attempt => ({
    ...ATTEMPT,
    key: randomUUID(),
    startedAt: clock.now(),
    ...changes,
  })
  const start = (attempt: Attempt) => gateway.startCheckout(attempt, MOBILE_MONEY, RETURN_URL)
  const prompt = (attempt: Attempt, choice: Partial<CheckoutChoice> = {}) =>
    gateway.startCheckout(attempt, { ...PROMPT, ...choice }, RETURN_URL)
  return { clock, provider, gateway, makeAttempt, start, prompt }
}

export type Rig = Awaited<ReturnType<typeof startPawapay>>

/** The connector on a provider with one recorded response to every request. */
export async function replay(t: TestContext, fixture: string, http = 200) {
  return replayReply(t, { http, body: readFixture(fixture) })
}

export async function replayReply(t: TestContext, reply: FakeReply) {
  const server = await startFakeServer(t, async () => reply)
  return { server, gateway: openOn(t, server.url) }
}

export function readFixture(name: string) {
  return JSON.parse(readFileSync(path.join(import.meta.dirname, 'fixtures', `${name}.json`), 'utf8'))
}

export const ATTEMPT: Attempt = {
  key: RECORDED_KEY,
  operation: 'checkout',
  paymentId: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  merchantId: '0197a3c2-0000-7cc3-98c4-dc0c0c07398f',
  merchantName: 'Duka La Vitabu',
  reference: 'A-1042',
  amount: money(125_050n, 'ZMW'),
  country: 'ZM',
  description: 'Two books',
  customer: { email: 'amina.otieno@example.com', firstname: 'Amina', lastname: 'Otieno' },
  startedAt: systemClock.now(),
  expiresAt: null,
}
