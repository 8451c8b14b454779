// For tests: Chapa as its documentation describes it. A tx_ref is used once, a status check of an unpaid page is a 404, and
// every accepted refund is executed: there is no key that would make two of them one.

import { randomBytes, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import { hmacSha256 } from '../../../src/kit/crypto.ts'
import type { CheckoutEnding, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, startFakeServer } from '../fake-server.ts'

export const FAKE_SECRET_KEY = 'CHASECK_TEST-RUwJBcglJUtks3uEyM5mRQHYLqtb'
export const FAKE_WEBHOOK_SECRET = 'a secret hash of 2026'

interface FakePayment {
  first_name: string
  last_name: string
  email: string
  currency: string
  amount: string
  charge: string
  mode: string
  method: string
  type: string
  /** Null while the payer has done nothing on the page. */
  status: string | null
  reference: string
  tx_ref: string
  created_at: string
  updated_at: string
}

interface FakeRefund {
  ref_id: string
  key: string
  amount: string
  status: string
}

export interface FakeChapa extends FakeProvider {
  /** Refunds are accepted without an id from now on. */
  omitRefundIds(): void
  setStatus(key: string, status: string): void
}

const time = () => systemClock.now().toISOString().replace('Z', '000Z')
const failure = (http: number, message: unknown, status: string | null = 'failed'): FakeReply => ({
  http,
  body: { message, status, data: null },
})
const success = (message: string, data: unknown): FakeReply => ({
  http: 200,
  body: { message, status: 'success', data },
})

const TITLE = /^[A-Za-z0-9_. -]{1,16}$/
const TEXT = /^[A-Za-z0-9_. -]+$/

/** The fields that Chapa refuses. */
function issuesOf(fields: Record<string, unknown>): Record<string, string[]> {
  const { amount, currency, tx_ref: reference, email, customization } = fields
  const { title = 'x', description = 'x' } = (customization ?? {}) as Record<string, string>
  const checks: [string, boolean][] = [
    ['amount', typeof amount === 'string' && /^\d+(\.\d{1,2})?$/.test(amount)],
    ['currency', currency === 'ETB'],
    ['tx_ref', typeof reference === 'string' && /^[\w-]{1,100}$/.test(reference)],
    ['email', email === undefined || /^[^@\s]+@[^@\s]+$/.test(String(email))],
    ['customization.title', TITLE.test(title)],
    ['customization.description', TEXT.test(description)],
  ]
  const wrong = checks.filter(([, isRight]) => !isRight).map(([name]) => [name, ['validation.invalid']])
  return Object.fromEntries(wrong)
}

function makePayment(fields: Record<string, string>): FakePayment {
  return {
    first_name: fields.first_name ?? '',
    last_name: fields.last_name ?? '',
    email: fields.email ?? '',
    currency: fields.currency ?? 'ETB',
    amount: fields.amount ?? '0.00',
    charge: '3.50',
    mode: 'test',
    method: 'telebirr',
    type: 'API',
    status: null,
    reference: `AP${randomBytes(5).toString('hex')}`,
    tx_ref: fields.tx_ref ?? '',
    created_at: time(),
    updated_at: time(),
  }
}

function pay(payment: FakePayment, { minor, currency, key }: CheckoutEnding & { kind: 'pays' }): void {
  Object.assign(payment, {
    status: 'success',
    ...(minor !== undefined && { amount: (Number(minor) / 100).toFixed(2) }),
    ...(currency && { currency }),
    ...(key && { tx_ref: key }),
  })
}

const REFUND_STATES: Readonly<Record<RefundBehavior, string>> = {
  succeeds: 'refunded',
  waits: 'processing',
  fails: 'reversed',
}

export async function startFakeChapa(t: TestContext): Promise<FakeChapa> {
  /** By the key of the request. */
  const payments = new Map<string, FakePayment>()
  const refunds: FakeRefund[] = []
  const executed: string[] = []
  let refundBehavior: RefundBehavior = 'succeeds'
  let hasRefundIds = true

  const find = (key: string): FakePayment => {
    const payment = payments.get(key)
    if (!payment) throw new Error('no such payment')
    return payment
  }

  const initialize = (text: string): FakeReply => {
    const fields = JSON.parse(text)
    const issues = issuesOf(fields)
    if (Object.keys(issues).length > 0) return failure(400, issues)
    if (payments.has(fields.tx_ref)) return failure(400, 'Transaction reference has been used before')
    payments.set(fields.tx_ref, makePayment(fields))
    return success('Hosted Link', {
      checkout_url: `https://checkout.chapa.co/checkout/payment/${randomUUID()}`,
    })
  }

  const verify = (key: string): FakeReply => {
    const payment = payments.get(key)
    if (!payment) return failure(404, 'Invalid transaction or Transaction not found')
    if (payment.status === null) return failure(404, 'Payment not paid yet', null)
    return success('Payment details', payment)
  }

  const refund = (key: string, form: URLSearchParams): FakeReply => {
    const payment = payments.get(key)
    if (payment?.status !== 'success') return failure(404, 'Transaction not found')
    const amount = form.get('amount') ?? payment.amount
    const made = {
      ref_id: `RF${randomBytes(6).toString('hex')}`,
      key,
      amount,
      status: REFUND_STATES[refundBehavior],
    }
    refunds.push(made)
    return success('Refund initiated', {
      ...(hasRefundIds && { ref_id: made.ref_id }),
      status: 'initiated',
      amount,
    })
  }

  const verifyRefund = (id: string): FakeReply => {
    const made = refunds.find((one) => one.ref_id === id)
    if (!made) return failure(404, 'Refund not found')
    return success('Refund details', {
      ref_id: id,
      status: made.status,
      amount: made.amount,
      currency: 'ETB',
    })
  }

  const server = await startFakeServer(
    t,
    async ({ method, path, headers, text }) => {
      if (headers.authorization !== `Bearer ${FAKE_SECRET_KEY}`)
        return failure(401, 'Invalid API Key or User doesn’t exist')
      const [, first = '', second = '', third = ''] = path.replace('/v1', '').split('/')
      const route = `${method} ${first}/${method === 'GET' && first === 'refund' ? third : second}`
      if (route === 'POST transaction/initialize') return initialize(text)
      if (route === 'GET transaction/verify') return verify(third)
      if (route === 'GET refund/verify') return verifyRefund(second)
      if (method === 'POST' && first === 'refund') return refund(second, new URLSearchParams(text))
      return failure(404, 'No such page')
    },
    { errorBody: (http) => failure(http, 'Something went wrong').body },
  )

  return {
    server,
    omitRefundIds: () => {
      hasRefundIds = false
    },
    setStatus: (key, status) => {
      find(key).status = status
    },
    finish(key, ending) {
      const payment = find(key)
      payment.updated_at = time()
      if (ending.kind === 'waits') payment.status = 'pending'
      else if (ending.kind === 'declines') payment.status = ending.how
      else {
        if (payment.status !== 'success') executed.push(key)
        pay(payment, ending)
      }
    },
    executions: (key) => executed.filter((one) => one === key).length,
    webhook(key, event = 'charge.success') {
      const payment = payments.get(key) ?? makePayment({ tx_ref: key, amount: '400.00' })
      payments.get(key) ?? Object.assign(payment, { created_at: EPOCH, updated_at: EPOCH })
      const { status, ...facts } = payment
      return signWebhook({ event, ...facts, tx_ref: key, status: status ?? 'success', meta: null })
    },
    setRefundBehavior: (behavior) => {
      refundBehavior = behavior
    },
    refunds: (key) =>
      refunds
        .filter((one) => one.key === key && one.status !== 'reversed')
        .map(({ amount }) => BigInt(amount.replace('.', ''))),
  }
}

const EPOCH = addMs(new Date(0), 0).toISOString()

/** The raw body is signed. As in PHP its slashes are escaped, so it changes when it is parsed and written again. */
export function signWebhook(event: object, secret = FAKE_WEBHOOK_SECRET): Webhook {
  const customization = { title: null, description: null, logo: 'https://shop.example/logo.png' }
  const body = Buffer.from(JSON.stringify({ ...event, customization }).replaceAll('/', '\\/'))
  return { headers: { 'x-chapa-signature': hmacSha256(secret, body).toString('hex') }, body }
}
