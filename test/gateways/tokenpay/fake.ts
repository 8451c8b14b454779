// For tests: Tokenpay, a provider that wants an access token with each call and may limit how many it grants.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/kit/clock.ts'
import { hmacSha256 } from '../../../src/kit/crypto.ts'
import type { ChargeBehavior, FakeProvider, RefundBehavior } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { TOKEN_PATH } from './connector.ts'

export const CREDENTIALS = { appKey: 'app_4f9a1c', appSecret: 'secret_0d8b5e7a92c3' }

interface Payment {
  id: string
  reference: string
  status: string
  amount: string
  currency: string
  reason?: string
  method?: string
  paidAt?: string
}

export interface FakeTokenpay
  extends Required<
    Omit<FakeProvider, 'confirm' | 'dispute' | 'refundInDashboard' | 'refundWebhook' | 'savedMethodWebhook'>
  > {
  /** How often it was asked for a token. */
  grants(): number
  setTokenLife(seconds: number): void
}

const reply = (http: number, body: unknown): FakeReply => ({ http, body })
const NOT_FOUND = reply(404, { error: 'not found' })

export async function startFakeTokenpay(t: Pick<TestContext, 'after'>): Promise<FakeTokenpay> {
  const payments = new Map<string, Payment>()
  const methods = new Map<string, ChargeBehavior>()
  const refunds = new Map<string, { id: string; status: string; payment: string; amount: bigint }>()
  const executed: string[] = []
  let tokens = new Set<string>()
  let tokenLife = 3_600
  let refundBehavior: RefundBehavior = 'succeeds'

  const grantToken = (authorization: string | undefined): FakeReply => {
    const expected = Buffer.from(`${CREDENTIALS.appKey}:${CREDENTIALS.appSecret}`).toString('base64')
    if (authorization !== `Basic ${expected}`) return reply(401, { error: 'invalid_client' })
    const token = randomUUID()
    tokens.add(token)
    return reply(200, { access_token: token, expires_in: String(tokenLife) })
  }
  const pay = (payment: Payment, method: string) => {
    executed.push(payment.reference)
    Object.assign(payment, { status: 'paid', method, paidAt: systemClock.now().toISOString() })
  }
  const open = ({ reference, amount, currency }: Record<string, string>): Payment => {
    const known = payments.get(reference ?? '')
    if (known) return known
    const fresh = { id: randomUUID(), reference, amount, currency, status: 'open' } as Payment
    payments.set(fresh.reference, fresh)
    return fresh
  }
  const charge = (body: Record<string, string>): Payment => {
    const isNew = !payments.has(body.reference ?? '')
    const payment = open(body)
    const behavior = methods.get(body.method ?? '') ?? 'approves'
    if (!isNew || behavior === 'waits') return payment
    if (behavior === 'approves') pay(payment, body.method ?? '')
    else {
      const reason = behavior === 'wants_customer' ? 'authentication_required' : behavior.declines
      Object.assign(payment, { status: 'failed', reason })
    }
    return payment
  }
  const refund = ({ key = '', payment = '', amount = '0' }: Record<string, string>) => {
    const status = { succeeds: 'done', waits: 'open', fails: 'failed' }[refundBehavior]
    const made = refunds.get(key) ?? { id: randomUUID(), status, payment, amount: BigInt(amount) }
    refunds.set(key, made)
    return { id: made.id, status: made.status }
  }
  const answer = ({ method, path, headers, text }: FakeRequest): FakeReply => {
    if (path === TOKEN_PATH) return grantToken(headers.authorization)
    if (!tokens.has(headers.authorization?.replace('Bearer ', '') ?? ''))
      return reply(401, { error: 'token' })
    const [, resource, key = ''] = path.split('/')
    const found = resource === 'refunds' ? refunds.get(key) : payments.get(key)
    if (method === 'GET') return found ? reply(200, serialize(found)) : NOT_FOUND
    const body = JSON.parse(text)
    const act = { payments: open, charges: charge, refunds: refund }[resource ?? '']
    return act ? reply(200, act(body)) : NOT_FOUND
  }
  const server = await startFakeServer(t, async (request) => answer(request))

  return {
    server,
    grants: () => server.requests.filter(({ path }) => path === TOKEN_PATH).length,
    setTokenLife: (seconds) => {
      tokenLife = seconds
    },
    rejectTokens: () => {
      tokens = new Set()
    },
    finish(key, ending) {
      const payment = payments.get(key)
      if (!payment) throw new Error('no such payment')
      if (ending.kind === 'declines') Object.assign(payment, { status: 'failed', reason: ending.how })
      if (ending.kind !== 'pays') return
      pay(payment, 'card_of_the_payer')
      const { minor = payment.amount, currency = payment.currency, key: reference = key } = ending
      Object.assign(payment, { amount: String(minor), currency, reference })
    },
    executions: (key) => executed.filter((one) => one === key).length,
    webhook(key, event = 'payment.paid') {
      const body = Buffer.from(JSON.stringify({ id: randomUUID(), event, reference: key }))
      const signature = hmacSha256(CREDENTIALS.appSecret, body).toString('hex')
      return { headers: { 'tokenpay-signature': signature }, body }
    },
    savedCredential(behavior) {
      const method = randomUUID()
      methods.set(method, behavior)
      return method
    },
    setRefundBehavior: (behavior) => {
      refundBehavior = behavior
    },
    refunds: (attemptKey) =>
      [...refunds.values()]
        .filter(({ payment, status }) => payment === attemptKey && status === 'done')
        .map(({ amount }) => amount),
  }
}

const serialize = ({ amount, ...rest }: { amount: bigint | string }) => ({ ...rest, amount: String(amount) })
