// For tests: the fictitious wallet Ahadi. A payment is created, confirmed by the payer on a page, and executed by us.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/kit/clock.ts'
import type { FakeProvider } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'

export const FAKE_API_KEY = 'ahadi_9f86d081884c7d659a2feaa0c55ad015'

interface Payment {
  key: string
  callback: string
  record: Record<string, string>
}

export async function startFakeAhadi(t: TestContext): Promise<FakeProvider> {
  const payments: Payment[] = []
  const executed: string[] = []

  const create = ({ text }: FakeRequest): FakeReply => {
    const { reference, amount, currency, callback } = JSON.parse(text)
    const id = randomUUID()
    const page = `https://ahadi.example/pay/${id}`
    const record = { id, reference, amount, currency, status: 'CREATED', page }
    payments.push({ key: reference, callback, record })
    return { http: 201, body: record }
  }
  const pay = (payment: Payment) => {
    executed.push(payment.key)
    Object.assign(payment.record, { status: 'EXECUTED', paidAt: systemClock.now().toISOString() })
  }
  const findByKey = (key: string | undefined) => payments.find((one) => one.key === key)
  const requirePayment = (key: string): Payment => {
    const payment = findByKey(key)
    if (!payment) throw new Error('no such payment')
    return payment
  }

  const server = await startFakeServer(t, async (request): Promise<FakeReply> => {
    const { method, path, headers } = request
    if (headers.authorization !== `Bearer ${FAKE_API_KEY}`) return { http: 401, body: { error: 'key' } }
    if (method === 'POST' && path === '/payments') return create(request)
    const [, , first = '', last] = path.split('/')
    const payment = method === 'POST' ? payments.find(({ record }) => record.id === first) : findByKey(last)
    if (!payment) return { http: 404, body: { error: 'no such payment' } }
    if (method === 'POST' && payment.record.status === 'CONFIRMED') pay(payment)
    return { http: 200, body: payment.record }
  })

  return {
    server,
    confirm: (key) => void Object.assign(requirePayment(key).record, { status: 'CONFIRMED' }),
    finish(key, ending) {
      const payment = requirePayment(key)
      const { record } = payment
      if (ending.kind === 'waits') record.status = 'EXECUTING'
      if (ending.kind === 'declines') Object.assign(record, { status: 'FAILED', reason: ending.how })
      if (ending.kind !== 'pays') return
      pay(payment)
      const { minor = record.amount, currency = record.currency, key: reference = key } = ending
      Object.assign(record, { amount: String(minor), currency, reference })
    },
    executions: (key) => executed.filter((one) => one === key).length,
    webhook(key, event) {
      const { callback: url, record } = requirePayment(key)
      const body = Buffer.from(JSON.stringify(event === undefined ? record : { event }))
      return { headers: { 'content-type': 'application/json' }, url, body }
    },
  }
}
