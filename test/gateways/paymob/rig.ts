// The connector on a fake Paymob.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Attempt, Gateway, StatusQuery } from '../../../src/gateways/gateway.ts'
import { PAYMOB } from '../../../src/gateways/paymob/index.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { PUBLIC_URL, type Webhook } from '../conformance.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt, verifyCallbackUrl } from '../webhook-request.ts'
import { CREDENTIALS, startFakePaymob } from './fake.ts'

export const RETURN_URL = `${PUBLIC_URL}/pay/return`

export async function startPaymob(t: TestContext, credentials: Record<string, string> = CREDENTIALS) {
  const provider = await startFakePaymob(t)
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  cleanUp(t, () => http.close())
  const gateway = PAYMOB.open({
    credentials,
    baseUrl: provider.server.url,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, PAYMOB.name),
  })
  const receive = ({ query = {}, headers, body, url = '' }: Webhook) =>
    gateway.parseWebhook({
      ...{ method: 'POST', headers, query, rawBody: body },
      callback: verifyCallbackUrl(url) ?? null,
    })
  return { provider, gateway, receive }
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt & StatusQuery {
  return {
    key: randomUUID(),
    operation: 'checkout',
    paymentId: randomUUID(),
    merchantId: randomUUID(),
    merchantName: 'Maktabat Al-Nil',
    reference: 'A-1042',
    amount: money(125_050n, 'EGP'),
    country: 'EG',
    description: 'Two books',
    customer: { email: 'amina.otieno@example.com', firstname: 'Amina', lastname: '', phone: '+201012345678' },
    startedAt: systemClock.now(),
    expiresAt: addMs(systemClock.now(), 30 * 60_000 + 500),
    ...changes,
  }
}

/** A checkout that was paid with a card, with its outcome. */
export async function payNew({
  gateway,
  provider,
}: Pick<Awaited<ReturnType<typeof startPaymob>>, 'gateway' | 'provider'>) {
  const attempt = makeAttempt()
  const started = await startCard(gateway, attempt)
  await provider.finish(attempt.key, { kind: 'pays' })
  const paid = await gateway.verify(attempt, started.gatewayReference)
  if (paid.kind !== 'succeeded') throw new Error(`it is ${paid.kind}`)
  return { attempt, paid, reference: started.gatewayReference }
}

export async function startCard(gateway: Gateway, attempt: Attempt) {
  const started = await gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)
  if (started.kind !== 'started') throw new Error(`it is ${started.kind}`)
  return started
}
