// The setup of one test: a new fake provider, the connector opened on it with the real HTTP client, and checks of
// everything that the connector returns.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { inspect } from 'node:util'
import type {
  Attempt,
  Gateway,
  Outcome,
  ParsedWebhook,
  StartedCheckout,
  StatusQuery,
} from '../../../src/gateways/gateway.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import type { CallbackSubject } from '../../../src/secrets/callback-paths.ts'
import { cleanUp } from '../../support/cleanups.ts'
import { createMemoryTokenStore, openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt, verifyCallbackUrl } from '../webhook-request.ts'
import {
  type FakeProvider,
  PUBLIC_URL,
  type Subject,
  secretFieldsOf,
  secretsOf,
  type Webhook,
} from './subject.ts'

const CUSTOMER = {
  email: 'amina.otieno@example.com',
  firstname: 'Amina',
  lastname: 'Otieno',
  phone: '+254712345678',
}
const RETURN_URL = `${PUBLIC_URL}/pay/return`

// Long enough that a busy machine does not cause timeouts, which would look like a broken connector.
const DEFAULT_TIMEOUT_MS = 10_000

// Messages are stored with the attempt and shown to operators: a sentence or two, not a whole page of the provider.
const MAX_MESSAGE_LENGTH = 1_000

/** Tests mostly wait. More of them at once would wait for the CPU instead, which looks like a hang. */
export const CONCURRENCY = 6

export interface Rig {
  readonly provider: FakeProvider
  readonly gateway: Gateway
  /** The same gateway with other credentials, with a shorter timeout, or without the access token that it has already. */
  open(options: { credentials?: Subject['credentials']; timeoutMs?: number; hasNoToken?: boolean }): Gateway
  /** The access tokens become this much older, as the connector sees it. */
  ageTokens(ms: number): void
  callbackUrl(subject: CallbackSubject): string
  /** Parses a webhook after the service has verified its path. */
  receive(webhook: Webhook, gateway?: Gateway): ParsedWebhook
  makeAttempt(operation?: Attempt['operation']): Attempt
  start(attempt: Attempt, gateway?: Gateway): Promise<StartedCheckout | Outcome>
  /** A started checkout, with the provider's reference. */
  startNew(): Promise<{ attempt: Attempt; reference: string }>
  /** A paid checkout, with its outcome. */
  payNew(): Promise<{ attempt: Attempt; paid: Extract<Outcome, { kind: 'succeeded' }> }>
}

export async function startRig(t: TestContext, subject: Subject): Promise<Rig> {
  const provider = await subject.start(t)
  cleanUp(t, () => assertNoSecretInUrls(provider, subject))
  const callbackUrl = callbackUrlAt(PUBLIC_URL, subject.name)
  const tokenClock = createOffsetClock()
  const shared = createMemoryTokenStore(tokenClock)
  const open: Rig['open'] = ({
    credentials = subject.credentials,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    hasNoToken = false,
  }) => {
    const store = hasNoToken ? createMemoryTokenStore(tokenClock) : shared
    const tokens = openMemoryTokens({ gateway: subject.name, timeoutMs }, store)
    const http = createHttpClient({ totalTimeoutMs: timeoutMs })
    cleanUp(t, () => http.close())
    const { url: baseUrl } = provider.server
    const mode = subject.mode ?? 'test'
    const publicUrl = () => PUBLIC_URL
    const addresses = { publicUrl, callbackUrl }
    const connection = { credentials, baseUrl, mode, http, tokens, clock: systemClock, ...addresses }
    const opened = subject.open(connection)
    const gateway = subject.emptyReplies ? withStatusChecks(opened) : opened
    return withSecretChecks(gateway, [
      ...secretsOf(subject, subject.credentials),
      ...secretsOf(subject, credentials),
    ])
  }
  const gateway = open({})
  // The faults of the other tests are those of the operation itself: it has its access token by then.
  if (subject.prelude) await requestTokens(subject, gateway)

  const rig: Rig = {
    provider,
    gateway,
    open,
    callbackUrl,
    receive: (webhook, by = gateway) => receive(by, webhook),
    ageTokens: tokenClock.advance,
    makeAttempt: (operation = 'checkout') => makeAttempt(subject, operation),
    start: (attempt, by = gateway) =>
      by.startCheckout(attempt, subject.choice ?? { channel: 'card' }, RETURN_URL),
    async startNew() {
      const attempt = rig.makeAttempt()
      const started = await rig.start(attempt)
      assert.ok(started.kind === 'started', inspect(started))
      return { attempt, reference: started.gatewayReference }
    },
    async payNew() {
      const { attempt, reference } = await rig.startNew()
      await provider.finish(attempt.key, { kind: 'pays' })
      const reported = subject.savesByCallback ? await receiveMethod(rig, attempt) : attempt
      const paid = await gateway.verify(reported, reference)
      assert.ok(paid.kind === 'succeeded', inspect(paid))
      return { attempt: reported, paid }
    },
  }
  return rig
}

/** The attempt with the report of the callback that has its saved method. */
async function receiveMethod(rig: Rig, attempt: Attempt): Promise<Attempt & StatusQuery> {
  const webhook = await rig.provider.savedMethodWebhook?.(attempt.key)
  assert.ok(webhook, 'the fake provider has savedMethodWebhook')
  const reading = rig.receive(webhook)
  assert.ok(reading.kind === 'payment' && reading.key === attempt.key, inspect(reading))
  assert.ok(reading.report, 'the saved method is in the report')
  return { ...attempt, report: reading.report }
}

/** As the service does next: an empty response says that the charge is pending, and the status says what it has become. */
function withStatusChecks(gateway: Gateway): Gateway {
  const { chargeSaved, complete } = gateway
  const settled = async (attempt: StatusQuery, outcome: Outcome): Promise<Outcome> =>
    outcome.kind === 'pending' && !outcome.canComplete
      ? gateway.verify(attempt, outcome.gatewayReference)
      : outcome
  return {
    ...gateway,
    ...(chargeSaved && {
      chargeSaved: async (attempt, credential) => settled(attempt, await chargeSaved(attempt, credential)),
    }),
    ...(complete && {
      complete: async (query, ...given) => settled(query, await complete(query, ...given)),
    }),
  }
}

/** Refunds may need a token of their own. */
async function requestTokens({ amount }: Subject, gateway: Gateway): Promise<void> {
  const nothing = { key: randomUUID(), attemptKey: randomUUID(), attemptReference: randomUUID() }
  const times = { startedAt: systemClock.now(), expiresAt: null }
  const query = { key: nothing.key, operation: 'checkout', amount, ...times } as const
  await gateway.verify(query, nothing.attemptReference)
  await gateway.verifyRefund?.({ ...nothing, amount, isFull: true, receiptNumber: nothing.key }, null)
}

/** As the service does: a path that proves nothing is forged, and a callback without a path comes to the plain one. */
function receive(
  gateway: Gateway,
  { method = 'POST', headers, query = {}, body, url }: Webhook,
): ParsedWebhook {
  const callback = url === undefined ? null : verifyCallbackUrl(url)
  return callback === undefined
    ? { kind: 'forged' }
    : gateway.parseWebhook({ method, headers, query, rawBody: body, callback })
}

/** The system's clock, some time ahead. */
function createOffsetClock() {
  let offsetMs = 0
  const advance = (ms: number) => {
    offsetMs += ms
  }
  return { ...systemClock, now: () => addMs(systemClock.now(), offsetMs), advance }
}

/** Also what a status query about it has. */
function makeAttempt(subject: Subject, operation: Attempt['operation']): Attempt & StatusQuery {
  const startedAt = systemClock.now()
  const { phone, consent } = subject.choice ?? {}
  return {
    ...(phone !== undefined && operation === 'checkout' && { phone }),
    ...(consent && operation === 'checkout' && { savesMethod: true }),
    key: randomUUID(),
    operation,
    paymentId: randomUUID(),
    merchantId: randomUUID(),
    merchantName: 'Duka La Vitabu',
    reference: 'A-1042 & more',
    amount: subject.amount,
    country: subject.country ?? null,
    description: 'Two books, one of them “new”',
    customer: CUSTOMER,
    startedAt,
    expiresAt: operation === 'checkout' ? addMs(startedAt, 60 * 60_000) : null,
  }
}

const HINT = 'send it in a header or the body, or see credentialsInQuery and publicCredentials'

/** URLs end up in the access logs of every proxy. */
function assertNoSecretInUrls({ server }: FakeProvider, subject: Subject): void {
  const secrets = secretFieldsOf(subject)
  for (const { method, path, query } of server.requests) {
    const isAllowed = subject.credentialsInQuery !== undefined
    const address = decodeURIComponent(isAllowed ? path : `${path}?${query}`)
    for (const [name, secret] of secrets)
      assert.ok(
        !address.includes(secret),
        `the URL of ${method} ${path.replaceAll(secret, '…')} contains the credential ${name}: ${HINT}`,
      )
  }
}

type AnyOperation = (...given: unknown[]) => unknown

/** The same gateway; every result is searched for secrets. */
function withSecretChecks(gateway: Gateway, secrets: readonly string[]): Gateway {
  const checked = (name: string, operation: AnyOperation): AnyOperation => {
    // parseWebhook is synchronous, all others are not.
    if (name === 'parseWebhook') return (...given) => assertNoSecretIn(name, operation(...given), secrets)
    return async (...given) => assertNoSecretIn(name, await operation(...given), secrets)
  }
  const entries = Object.entries(gateway).map(([name, value]) => [
    name,
    typeof value === 'function' ? checked(name, value) : value,
  ])
  // A boundary: the same names with the same operations.
  return Object.fromEntries(entries) as Gateway
}

function assertNoSecretIn(operation: string, answer: unknown, secrets: readonly string[]): unknown {
  const everything = inspect(answer, { depth: 10, maxStringLength: null })
  for (const secret of secrets) assert.ok(!everything.includes(secret), `${operation} returns a credential`)
  const message =
    answer !== null && typeof answer === 'object' && 'message' in answer ? String(answer.message) : ''
  assert.ok(!message.includes(CUSTOMER.email), `${operation} returns the payer's e-mail in its message`)
  assert.ok(
    message.length <= MAX_MESSAGE_LENGTH,
    `${operation} returns a message of ${message.length} characters`,
  )
  return answer
}
