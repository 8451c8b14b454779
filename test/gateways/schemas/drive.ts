// Drives every operation of a connector at the fake of its provider, for the given rails and all their channels, and
// returns what was sent and answered.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { decimalsOf } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import type { GatewayDefinition } from '../../../src/gateways/definition.ts'
import type { Attempt, CheckoutChoice, Gateway, Rail } from '../../../src/gateways/gateway.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient, type HttpClient } from '../../../src/kit/http/http-client.ts'
import { cleanUp } from '../../support/cleanups.ts'
import type { FakeProvider } from '../conformance.ts'
import { callsOf, makeAttempt, openGateway, promptOn, RETURN_URL } from './connection.ts'
import type { GivenResponse, SentRequest } from './requests.ts'

export interface Driven {
  definition: GatewayDefinition
  credentials: Record<string, string>
  /** Other credentials with which the connector sends other requests. */
  otherCredentials?: Record<string, string>
  start(t: TestContext): Promise<FakeProvider>
  /** Issues of the fake's responses that are right. */
  knownDifferences?: readonly RegExp[]
}

export interface Recorded {
  requests: SentRequest[]
  responses: { request: Pick<SentRequest, 'method' | 'path'>; response: GivenResponse }[]
}

export async function driveAll(t: TestContext, driven: Driven, rails: readonly Rail[]): Promise<Recorded> {
  const { definition, credentials, otherCredentials = credentials } = driven
  const provider = await driven.start(t)
  const responses: Recorded['responses'] = []
  const open = (withCredentials: Record<string, string>) => {
    const http = recordResponses(createHttpClient(), responses)
    cleanUp(t, () => http.close())
    const { url: baseUrl } = provider.server
    return openGateway(definition, { credentials: withCredentials, baseUrl, http, clock: systemClock })
  }
  const gateway = open(credentials)
  for (const rail of rails) await driveRail(gateway, provider, rail)
  await open(otherCredentials).checkAccount?.()
  return { requests: provider.server.requests, responses }
}

function recordResponses(http: HttpClient, responses: Recorded['responses']): HttpClient {
  return {
    ...http,
    async request(request) {
      const result = await http.request(request)
      if (result.kind === 'answered') {
        const sent = { method: request.method, path: new URL(request.url).pathname }
        const body = JSON.parse(result.body.toString())
        responses.push({ request: sent, response: { status: result.status, body } })
      }
      return result
    },
  }
}

const CONSENT = {
  agreedAt: '2026-11-16T12:00:00.000Z',
  source: 'checkout',
  form: 'checkbox',
  wordingVersion: '1',
  language: 'en',
} as const

async function driveRail(gateway: Gateway, provider: FakeProvider, rail: Rail): Promise<void> {
  const choices = rail.channels.flatMap((channel): CheckoutChoice[] => [
    { channel },
    { channel, consent: null },
    { channel, consent: CONSENT },
  ])
  choices.push(...(rail.networks ?? []).map(promptOn))
  for (const choice of choices) await gateway.startCheckout(attemptFor(rail), choice, RETURN_URL)
  await drivePaid(gateway, provider, attemptFor(rail))
}

function attemptFor({ currency, countries, minimumMinor = 0n }: Rail): Attempt {
  const usual = decimalsOf(currency) === 2 ? 125_050n : 1_250n
  const minor = minimumMinor > usual ? minimumMinor : usual
  const startedAt = systemClock.now()
  const expiresAt = new Date(startedAt.getTime() + 3_600_000)
  return makeAttempt({
    key: randomUUID(),
    amount: money(minor, currency),
    country: countries?.[0] ?? null,
    startedAt,
    expiresAt,
  })
}

/** All operations about a paid checkout. */
async function drivePaid(gateway: Gateway, provider: FakeProvider, attempt: Attempt): Promise<void> {
  const started = await gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)
  if (started.kind !== 'started') throw new Error(`the checkout did not start: ${JSON.stringify(started)}`)
  await provider.finish(attempt.key, { kind: 'pays' })
  const { gatewayReference: payment } = started
  const credential = (await provider.savedCredential?.('approves')) ?? ''
  const paid = await gateway.verify(attempt, payment)
  const receipt = paid.kind === 'succeeded' ? paid.receiptNumber : undefined
  const references = { payment, receipt, refund: '1', credential }
  // Each charge has its own key.
  const calls = callsOf(gateway, { attempt, charge: { ...attempt, key: randomUUID() }, ...references })
  for (const call of Object.values(calls)) await call()
}
