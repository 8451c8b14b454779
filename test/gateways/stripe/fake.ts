// A fake Stripe on a socket, written from its documentation, including its errors. It checks the key and the form,
// replays responses under an idempotency key (also a 500), and drops the key after 24 hours.

import { createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { DisputeReport } from '../../../src/gateways/gateway.ts'
import { type Clock, systemClock } from '../../../src/kit/clock.ts'
import type { ChargeBehavior, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { requestIssues } from '../schemas/requests.ts'
import {
  CUSTOMER_RULES,
  errorReply,
  type Fields,
  INTENT_RULES,
  isReply,
  REFUND_RULES,
  readFields,
  SESSION_RULES,
} from './fake-forms.ts'
import {
  createFakeState,
  expireByTime,
  expireSession,
  type FakeState,
  finish,
  makeCustomer,
  makeIntent,
  makeMethod,
  makeRefund,
  makeSession,
  newId,
  readFixture,
  readObject,
  type Stripe,
  scaleOf,
  seconds,
  setDispute,
} from './fake-state.ts'

export const FAKE_SECRET_KEY = 'sk_test_made0up0key0of0the0tests'
export const FAKE_WEBHOOK_SECRET = 'whsec_made0up0secret0of0the0tests'

export interface FakeStripe extends FakeProvider {
  /** Executes the next submission, and responds with a 500 for as long as its key is kept. */
  failAfterExecuting(): void
  /** From now on payers pay with this method on Stripe's page; undefined: with a card. */
  setPageMethod(method: object | undefined): void
  savedCredential(behavior: ChargeBehavior): string
  setRefundBehavior(behavior: RefundBehavior): void
  refunds(attemptKey: string): readonly bigint[]
  webhook(key: string, event?: string): Webhook
  dispute(key: string, status: DisputeReport['status']): Webhook
}

interface CachedReply {
  request: string
  reply: FakeReply
  atMs: number
}

interface IdempotencyState {
  keys: Map<string, CachedReply>
  failsAfterExecuting: boolean
}

const KEY_LIFE_MS = 24 * 3_600_000

export async function startFakeStripe(t: TestContext, clock: Clock = systemClock): Promise<FakeStripe> {
  const state = createFakeState(clock)
  const idempotency: IdempotencyState = { keys: new Map(), failsAfterExecuting: false }
  const server = await startFakeServer(t, async (request) => answer(state, idempotency, request), {
    errorBody,
    issuesOf: requestIssues('stripe'),
  })
  const paid = (key: string) =>
    [...state.intents.values()].filter(
      ({ metadata, status }) => metadata.cowry_key === key && status === 'succeeded',
    )
  return {
    server,
    finish: (key, ending) => finish(state, key, ending),
    executions: (key) => paid(key).length,
    savedCredential(behavior) {
      const method = makeMethod(state, newId('cus'), behavior)
      return JSON.stringify({ customer: method.customer, payment_method: method.id })
    },
    setRefundBehavior(behavior) {
      state.refundBehavior = behavior
    },
    refunds: (key) =>
      [...state.refunds.values()]
        .filter(({ status, metadata }) => status !== 'failed' && metadata.cowry_key === key)
        .map(({ amount, currency }) => BigInt(amount) / scaleOf(currency)),
    dispute(key, status) {
      const [intent] = paid(key)
      if (!intent) throw new Error(`the fake Stripe has no payment for ${key}`)
      const object = structuredClone(setDispute(state, intent, status))
      const type = `charge.dispute.${status === 'open' ? 'created' : 'closed'}`
      return sign(state, { ...readFixture('event'), id: newId('evt'), type, data: { object } })
    },
    refundInDashboard(key, minor) {
      const [intent] = paid(key)
      if (!intent) throw new Error(`the fake Stripe has no payment for ${key}`)
      const made = makeRefund(
        state,
        new Map([
          ['payment_intent', intent.id],
          ['amount', String(minor)],
        ]),
      )
      const object = structuredClone(made.body)
      return sign(state, {
        ...readFixture('event'),
        id: newId('evt'),
        type: 'refund.created',
        data: { object },
      })
    },
    setPageMethod(method) {
      state.pageMethod = method
    },
    failAfterExecuting() {
      idempotency.failsAfterExecuting = true
    },
    webhook: (key, event) => makeWebhook(state, key, event),
  }
}

function errorBody(http: number): Stripe {
  if (http === 429) return readFixture('error-rate-limit')
  const [type, code] = http === 409 ? ['idempotency_error', 'idempotency_key_in_use'] : ['api_error']
  return { error: { type, code, message: 'An error of the fake.' } }
}

function answer(state: FakeState, idempotency: IdempotencyState, request: FakeRequest): FakeReply {
  if (request.headers.authorization !== `Bearer ${FAKE_SECRET_KEY}`)
    return { http: 401, body: readFixture('error-invalid-key') }
  if (request.headers['stripe-version'] !== '2023-08-16')
    return errorReply(undefined, 'stripe-version', 'The tests pin the version.')
  for (const session of state.sessions.values()) expireByTime(state, session)
  if (request.method === 'GET') return readObject(state, request)
  if (request.headers['content-type'] !== 'application/x-www-form-urlencoded')
    return errorReply(undefined, 'content-type', 'Request bodies are form-encoded.')
  return writeOnce(state, idempotency, request)
}

/**
 * Once execution has begun the response is replayed under its key; a request refused before that does not use up the
 * key.
 */
function writeOnce(state: FakeState, idempotency: IdempotencyState, request: FakeRequest): FakeReply {
  const key = request.headers['idempotency-key']
  const fingerprint = `${request.path}?${request.text}`
  const nowMs = state.clock.now().getTime()
  const known = key === undefined ? undefined : idempotency.keys.get(key)
  if (known && nowMs - known.atMs < KEY_LIFE_MS) {
    if (known.request !== fingerprint) return { http: 400, body: readFixture('error-idempotency') }
    return { ...known.reply, headers: { 'idempotent-replayed': 'true' } }
  }
  const reply = write(state, request)
  if (reply.http !== 200 && reply.http !== 402) return reply
  const sent = idempotency.failsAfterExecuting ? { http: 500, body: errorBody(500) } : reply
  idempotency.failsAfterExecuting = false
  // Stored as a copy: the state changes later, the first response does not.
  if (key !== undefined)
    idempotency.keys.set(key, { request: fingerprint, reply: structuredClone(sent), atMs: nowMs })
  return sent
}

interface Endpoint {
  rules: typeof SESSION_RULES
  make(state: FakeState, fields: Fields): FakeReply
}

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/v1/checkout/sessions': { rules: SESSION_RULES, make: makeSession },
  '/v1/customers': { rules: CUSTOMER_RULES, make: makeCustomer },
  '/v1/payment_intents': { rules: INTENT_RULES, make: makeIntent },
  '/v1/refunds': { rules: REFUND_RULES, make: makeRefund },
}

function write(state: FakeState, { path, text }: FakeRequest): FakeReply {
  const expired = /^\/v1\/checkout\/sessions\/([^/]+)\/expire$/.exec(path)?.[1]
  if (expired !== undefined) return expireSession(state, expired)
  const endpoint = ENDPOINTS[path]
  if (!endpoint) return errorReply(undefined, 'url', `Unrecognized request URL (POST: ${path}).`, 404)
  const fields = readFields(text, endpoint.rules)
  return isReply(fields) ? fields : endpoint.make(state, fields)
}

const OBJECT_OF_EVENT: readonly [RegExp, (key: string) => Stripe][] = [
  [/^checkout\.session\./, (key) => ({ ...readFixture('checkout-session-paid'), client_reference_id: key })],
  [/^charge\.dispute\./, () => ({ id: 'du_1', object: 'dispute', payment_intent: 'pi_1', metadata: {} })],
  [/^(?:refund\.|charge\.refund\.)/, () => readFixture('refund')],
  [/^charge\./, () => ({ id: 'ch_1', object: 'charge', payment_intent: 'pi_1', metadata: {} })],
  [/./, () => readFixture('payment-intent')],
]

function makeWebhook(state: FakeState, key: string, type = 'checkout.session.completed'): Webhook {
  const named = OBJECT_OF_EVENT.find(([pattern]) => pattern.test(type))?.[1](key)
  const session = [...state.sessions.values()].find((one) => one.client_reference_id === key)
  const isSession = named.object === 'checkout.session' && session !== undefined
  const object = isSession ? { ...named, id: session.id } : named
  const metadata = { ...object.metadata, ...(object.object !== 'dispute' && { cowry_key: key }) }
  return sign(state, {
    ...readFixture('event'),
    id: newId('evt'),
    type,
    data: { object: { ...object, metadata } },
  })
}

function sign(state: FakeState, event: Stripe): Webhook {
  const body = Buffer.from(JSON.stringify(event))
  return { headers: { 'stripe-signature': signEvent(FAKE_WEBHOOK_SECRET, seconds(state), body) }, body }
}

export function signEvent(secret: string, unixSeconds: number, body: Buffer): string {
  const signature = createHmac('sha256', secret).update(`${unixSeconds}.`).update(body).digest('hex')
  return `t=${unixSeconds},v1=${signature}`
}
