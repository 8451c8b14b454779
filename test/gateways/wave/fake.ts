// For tests: Wave's checkout API as its documentation describes it. A client reference is not unique: every accepted request
// makes a session. Refunds and expiries are answered without a body.

import { randomBytes, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { isCurrency } from '../../../src/core/currency.ts'
import { readDecimal } from '../../../src/core/money.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import { hmacSha256 } from '../../../src/kit/crypto.ts'
import type { CheckoutEnding, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'

export const FAKE_API_KEY = 'wave_sn_test_YhUNb9dAq0Fi4bA6Tz0m'
export const FAKE_WEBHOOK_SECRET = 'wave_sn_WHS_xz4m6g8rjs9bshxy05xj4'

export interface FakeSession {
  id: string
  amount: string
  currency: string
  checkout_status: string
  payment_status: string
  client_reference: string | null
  transaction_id: string | null
  wave_launch_url: string
  business_name: string
  success_url: string
  error_url: string
  when_created: string
  when_expires: string
  when_completed: string | null
  last_payment_error: { code: string; message: string } | null
}

export interface FakeWave extends FakeProvider {
  /** The sessions that were made for this key, oldest first. */
  sessionsOf(key: string): FakeSession[]
  findSession(id: string): FakeSession | undefined
  /** The payer's try fails, and the session stays open. */
  failTry(key: string, code: string): void
  /** The search does not find sessions yet. */
  hideFromSearch(): void
}

const SESSION_MS = 30 * 60_000
const KNOWN_CURRENCIES = ['XOF', 'GMD']
const time = (date: Date) => date.toISOString().replace(/\.\d{3}Z$/, 'Z')
const error = (http: number, code: string): FakeReply => ({ http, body: { code, message: 'See the docs.' } })

/** What is wrong with the body of a request for a session; undefined if it is accepted. */
function findIssue(fields: Record<string, unknown>): string | undefined {
  const { amount, currency, success_url: success, error_url: failure, client_reference: reference } = fields
  if (typeof amount !== 'string' || !KNOWN_CURRENCIES.includes(String(currency))) return 'amount'
  const pattern = currency === 'XOF' ? /^[1-9]\d*$/ : /^\d+(\.\d{1,2})?$/
  if (!pattern.test(amount)) return 'amount'
  // Tests of the whole service have no TLS.
  const isAllowed = (url: unknown) => /^https:\/\/|^http:\/\/(127\.0\.0\.1|localhost)[:/]/.test(String(url))
  if (![success, failure].every(isAllowed)) return 'url'
  if (typeof reference !== 'string' || reference.length > 255) return 'client_reference'
  const known = ['amount', 'currency', 'success_url', 'error_url', 'client_reference']
  return Object.keys(fields).find((name) => !known.includes(name))
}

function makeSession(fields: Record<string, string>): FakeSession {
  const id = `cos-${randomBytes(8).toString('hex')}`
  const now = systemClock.now()
  return {
    id,
    amount: fields.amount ?? '',
    currency: fields.currency ?? '',
    checkout_status: 'open',
    payment_status: 'processing',
    client_reference: fields.client_reference ?? null,
    transaction_id: null,
    wave_launch_url: `https://pay.wave.com/c/${id}`,
    business_name: 'Duka La Vitabu',
    success_url: fields.success_url ?? '',
    error_url: fields.error_url ?? '',
    when_created: time(now),
    when_expires: time(addMs(now, SESSION_MS)),
    when_completed: null,
    last_payment_error: null,
  }
}

function end(session: FakeSession, checkout: string, payment: string): void {
  const [checkout_status, payment_status, when_completed] = [checkout, payment, time(systemClock.now())]
  Object.assign(session, { checkout_status, payment_status, when_completed })
}

/** `cancelled` and `expired` are endings without an error; any other name is the code of the last error. */
function decline(session: FakeSession, how: string): void {
  const isExpired = how === 'expired'
  if (!isExpired && how !== 'cancelled') session.last_payment_error = { code: how, message: 'See the docs.' }
  end(session, isExpired ? 'expired' : 'complete', 'cancelled')
}

function pay(session: FakeSession, ending: CheckoutEnding & { kind: 'pays' }): void {
  const { minor, currency = session.currency, key = session.client_reference } = ending
  const isWhole = session.currency === 'XOF'
  const given =
    minor === undefined ? session.amount : isWhole ? String(minor) : (Number(minor) / 100).toFixed(2)
  // A record in a currency with decimals has them.
  const amount = isWhole && currency !== session.currency ? (Number(given) / 100).toFixed(2) : given
  session.transaction_id = `T_${randomBytes(8).toString('hex').toUpperCase()}`
  Object.assign(session, { amount, currency, client_reference: key })
  end(session, 'complete', 'succeeded')
}

export async function startFakeWave(t: TestContext): Promise<FakeWave> {
  const sessions = new Map<string, FakeSession>()
  /** By session: our key when it was made. */
  const keys = new Map<string, string>()
  const executed: string[] = []
  const refunded: { key: string; minor: bigint }[] = []
  const eventIds = new Map<string, string>()
  let refundBehavior: RefundBehavior = 'succeeds'
  let isHidden = false

  const sessionsOf = (key: string) => [...sessions.values()].filter(({ id }) => keys.get(id) === key)
  const openSession = (key: string): FakeSession => {
    const [first] = sessionsOf(key)
    if (!first) throw new Error('no such session')
    return first
  }

  const create = (text: string): FakeReply => {
    const fields = JSON.parse(text)
    const issue = findIssue(fields)
    if (issue) return error(400, 'request-validation-error')
    const session = makeSession(fields)
    sessions.set(session.id, session)
    keys.set(session.id, fields.client_reference)
    return { http: 200, body: session }
  }

  const search = (reference: string | null): FakeReply => {
    const result = isHidden ? [] : [...sessions.values()].filter((one) => one.client_reference === reference)
    return { http: 200, body: { result } }
  }

  const refund = (session: FakeSession): FakeReply => {
    const key = keys.get(session.id) ?? ''
    if (refundBehavior === 'fails' || session.payment_status !== 'succeeded')
      return error(400, 'checkout-refund-failed')
    if (!refunded.some((one) => one.key === key) && isCurrency(session.currency))
      refunded.push({ key, minor: readDecimal(session.amount, session.currency)?.minor ?? 0n })
    return { http: 200 }
  }

  const expire = (session: FakeSession): FakeReply => {
    if (session.checkout_status !== 'open') return error(409, 'checkout-session-not-open')
    end(session, 'expired', 'cancelled')
    return { http: 200 }
  }

  const actOn = ({ method, path }: FakeRequest): FakeReply => {
    const [, id = '', action] = /^\/v1\/checkout\/sessions\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? []
    const session = sessions.get(id)
    if (!session) return error(404, 'checkout-session-not-found')
    if (method === 'GET' && action === undefined) return { http: 200, body: session }
    if (method === 'POST' && action === 'refund') return refund(session)
    if (method === 'POST' && action === 'expire') return expire(session)
    return error(404, 'not-found')
  }

  const server = await startFakeServer(
    t,
    async (request) => {
      const { method, path, query, headers, text } = request
      if (headers.authorization !== `Bearer ${FAKE_API_KEY}`) return error(401, 'no-matching-api-key')
      if (method === 'POST' && path === '/v1/checkout/sessions') return create(text)
      if (path === '/v1/checkout/sessions/search') return search(query.get('client_reference'))
      return actOn(request)
    },
    { errorBody: (http) => error(http, http === 429 ? 'too-many-requests' : 'internal-server-error').body },
  )

  return {
    server,
    sessionsOf,
    findSession: (id) => sessions.get(id),
    failTry: (key, code) => {
      openSession(key).last_payment_error = { code, message: 'See the docs.' }
    },
    hideFromSearch: () => {
      isHidden = true
    },
    finish(key, ending) {
      const session = openSession(key)
      if (ending.kind === 'waits') return
      if (ending.kind === 'declines') return decline(session, ending.how)
      if (session.checkout_status !== 'open') throw new Error('the page is closed')
      executed.push(key)
      pay(session, ending)
    },
    executions: (key) => executed.filter((one) => one === key).length,
    webhook(key, event = 'checkout.session.completed') {
      const [session = makeSession({ client_reference: key })] = sessionsOf(key)
      const id = eventIds.get(`${key} ${event}`) ?? `EV_${randomUUID().slice(0, 12)}`
      eventIds.set(`${key} ${event}`, id)
      return signWebhook({ id, type: event, data: { ...session, client_reference: key } })
    },
    setRefundBehavior: (behavior) => {
      refundBehavior = behavior
    },
    refunds: (key) => refunded.filter((one) => one.key === key).map(({ minor }) => minor),
  }
}

export function signWebhook(event: object, secret = FAKE_WEBHOOK_SECRET): Webhook {
  const body = Buffer.from(JSON.stringify(event))
  const seconds = Math.floor(systemClock.now().getTime() / 1_000)
  const signature = hmacSha256(secret, Buffer.concat([Buffer.from(String(seconds)), body]))
  return { headers: { 'wave-signature': `t=${seconds},v1=${signature.toString('hex')}` }, body }
}
