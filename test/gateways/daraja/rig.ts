// The connector on the fake, with a clock that the test controls.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import { DARAJA } from '../../../src/gateways/daraja/index.ts'
import type { Attempt, Gateway, RefundRequest, WebhookRequest } from '../../../src/gateways/gateway.ts'
import { addMs, type Clock, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL, type Webhook } from '../conformance.ts'
import { type FakeReply, startFakeServer } from '../fake-server.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt, verifyCallbackUrl } from '../webhook-request.ts'
import { CREDENTIALS, startFakeDaraja } from './fake.ts'

export const PHONE = '+254708374149'
export const CHOICE = { channel: 'mobile_money', phone: PHONE, network: 'mpesa_ke' } as const
export const callbackUrl = callbackUrlAt(PUBLIC_URL, 'daraja')

export type Credentials = Readonly<Record<string, string>>

export function openOn(
  t: TestContext,
  baseUrl: string,
  credentials: Credentials = CREDENTIALS,
  clock: Clock = systemClock,
): Gateway {
  const http = createHttpClient({ totalTimeoutMs: 10_000 })
  cleanUp(t, () => http.close())
  const addresses = { publicUrl: () => PUBLIC_URL, callbackUrl }
  return DARAJA.open({
    credentials,
    baseUrl,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock,
    ...addresses,
  })
}

export async function startDaraja(t: TestContext, credentials: Credentials = CREDENTIALS) {
  let offsetMs = 0
  const clock: Clock = { ...systemClock, now: () => addMs(systemClock.now(), offsetMs) }
  const provider = await startFakeDaraja(t)
  const gateway = openOn(t, provider.server.url, credentials, clock)
  return {
    provider,
    gateway,
    passHours: (hours: number) => {
      offsetMs += hours * 3_600_000
    },
    start: (attempt: Attempt) => gateway.startCheckout(attempt, CHOICE, `${PUBLIC_URL}/return`),
    receive: (webhook: Webhook) => gateway.parseWebhook(toRequest(webhook)),
  }
}

export type DarajaRig = Awaited<ReturnType<typeof startDaraja>>

/** The connector at a provider that answers everything but the token with this. */
export async function replay(t: TestContext, reply: FakeReply, credentials: Credentials = CREDENTIALS) {
  const server = await startFakeServer(t, async ({ path: where }) =>
    where === '/oauth/v1/generate'
      ? { http: 200, body: { access_token: 'token', expires_in: '3599' } }
      : reply,
  )
  return { server, gateway: openOn(t, server.url, credentials) }
}

export function toRequest({ headers, body, url = '' }: Webhook): WebhookRequest {
  return { method: 'POST', headers, query: {}, rawBody: body, callback: verifyCallbackUrl(url) ?? null }
}

export const readFixture = (name: string) =>
  readFileSync(path.join(import.meta.dirname, 'fixtures', `${name}.json`))

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    key: randomUUID(),
    operation: 'checkout',
    paymentId: randomUUID(),
    merchantId: randomUUID(),
    merchantName: 'Duka La Vitabu',
    reference: 'A-1042',
    amount: money(150_000n, 'KES'),
    country: 'KE',
    description: 'Two books: “Weep Not, Child”',
    customer: { email: 'amina.otieno@example.com', firstname: 'Amina', lastname: 'Otieno' },
    startedAt: systemClock.now(),
    expiresAt: null,
    ...changes,
  }
}

/** A paid attempt, and a refund of a part of it. */
export async function payAndRefund(rig: DarajaRig, changes: Partial<RefundRequest> = {}) {
  const attempt = makeAttempt()
  const started = await rig.start(attempt)
  if (started.kind !== 'started') throw new Error('the prompt was not accepted')
  await rig.provider.finish(attempt.key, { kind: 'pays' })
  const receiptNumber = rig.provider.prompts(attempt.key)[0]?.receipt ?? ''
  const request: RefundRequest = {
    key: randomUUID(),
    attemptKey: attempt.key,
    attemptReference: started.gatewayReference,
    amount: money(50_000n, 'KES'),
    isFull: false,
    receiptNumber,
    payerPhone: PHONE,
    ...changes,
  }
  return { attempt, request }
}
