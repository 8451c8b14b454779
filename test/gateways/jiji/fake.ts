// For tests: the fictitious provider Jiji. It accepts requests with 202 and no body, and sends callbacks by PUT, unsigned,
// to the address that came with the request.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'

export const FAKE_API_KEY = 'jiji_9f86d081884c7d659a2feaa0c55ad015'

interface Accepted {
  url: string
  record: Record<string, string>
}

interface AcceptedRefund {
  url: string
  attemptKey: string
  minor: bigint
  result: RefundBehavior
}

const USED: FakeReply = { http: 409, body: { code: 'REFERENCE_USED' } }

export async function startFakeJiji(t: TestContext): Promise<FakeProvider> {
  const payments = new Map<string, Accepted>()
  const refunds = new Map<string, AcceptedRefund>()
  const executed: string[] = []
  let refundBehavior: RefundBehavior = 'succeeds'

  const accept = ({ path, headers, text }: FakeRequest): FakeReply => {
    const { 'x-reference-id': key = '', 'x-callback-url': url = '' } = headers
    const body = JSON.parse(text)
    if (path === '/requests') {
      if (payments.has(key)) return USED
      const { amount, currency } = body
      const record = { externalId: key, transactionId: randomUUID(), status: 'PENDING', amount, currency }
      payments.set(key, { url, record })
    } else {
      if (refunds.has(key)) return USED
      const { original: attemptKey, amount } = body
      refunds.set(key, { url, attemptKey, minor: BigInt(amount), result: refundBehavior })
    }
    return { http: 202 }
  }

  const server = await startFakeServer(t, async (request): Promise<FakeReply> => {
    if (request.headers.authorization !== `Bearer ${FAKE_API_KEY}`)
      return { http: 401, body: { code: 'KEY' } }
    if (request.method === 'POST') return accept(request)
    const payment = payments.get(request.path.replace('/requests/', ''))
    return payment ? { http: 200, body: payment.record } : { http: 404, body: { code: 'NOT_FOUND' } }
  })

  const requirePayment = (key: string): Accepted => {
    const payment = payments.get(key)
    if (!payment) throw new Error('no such payment')
    return payment
  }

  const callback = (url: string, body: unknown): Webhook => ({
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    url,
    body: Buffer.from(JSON.stringify(body)),
  })

  return {
    server,
    finish(key, ending) {
      const { record } = requirePayment(key)
      if (ending.kind === 'declines') Object.assign(record, { status: 'FAILED', reason: ending.how })
      if (ending.kind !== 'pays') return
      executed.push(key)
      const { minor = record.amount, currency = record.currency, key: externalId = key } = ending
      Object.assign(record, { status: 'SUCCESSFUL', amount: String(minor), currency, externalId })
    },
    executions: (key) => executed.filter((one) => one === key).length,
    webhook(key, event) {
      const { url, record } = requirePayment(key)
      return callback(url, event === undefined ? record : { event })
    },
    setRefundBehavior(behavior) {
      refundBehavior = behavior
    },
    refunds: (attemptKey) =>
      [...refunds.values()]
        .filter((one) => one.attemptKey === attemptKey && one.result === 'succeeds')
        .map(({ minor }) => minor),
    refundWebhook(key) {
      const refund = refunds.get(key)
      if (!refund || refund.result === 'waits') return null
      const result = refund.result === 'succeeds' ? 'DONE' : 'FAILED'
      return callback(refund.url, { result, transactionId: `R-${key}` })
    },
  }
}
