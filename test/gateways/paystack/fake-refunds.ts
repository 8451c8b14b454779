// The refunds of the fake Paystack. They have no idempotency key, so it would execute the same partial refund twice.

import { systemClock } from '../../../src/kit/clock.ts'
import type { RefundBehavior } from '../conformance.ts'
import type { FakeReply } from '../fake-server.ts'
import {
  errorReply,
  type FakePayment,
  fixtureReply,
  isText,
  type Json,
  readFixture,
  validationError,
} from './fake-replies.ts'

interface FakeRefund {
  id: number
  payment: FakePayment
  amount: number
  note: string
  behavior: RefundBehavior
  createdAt: string
}

export interface FakeRefunds {
  create(body: Json): FakeReply
  list(query: URLSearchParams): FakeReply
  show(id: string): FakeReply
  end(behavior: RefundBehavior): void
  given(payment: FakePayment): bigint[]
}

const STATUSES: Record<RefundBehavior, string> = {
  succeeds: 'processed',
  waits: 'processing',
  fails: 'failed',
}

const FIELDS = {
  transaction: isText,
  amount: (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0,
  currency: isText,
  customer_note: isText,
  merchant_note: isText,
}

export function createFakeRefunds(payments: ReadonlyMap<string, FakePayment>): FakeRefunds {
  const refunds: FakeRefund[] = []
  let behavior: RefundBehavior = 'succeeds'

  const ofPayment = (payment: FakePayment) =>
    refunds.filter((one) => one.payment === payment && one.behavior !== 'fails')
  const find = (name: unknown) =>
    payments.get(String(name)) ?? [...payments.values()].find(({ id }) => String(id) === name)

  return {
    create(body) {
      const error = validationError(body, FIELDS, ['transaction'])
      if (error) return error
      const payment = find(body.transaction)
      if (!payment) return errorReply(404, 'Transaction not found')
      if (payment.executions === 0) return errorReply(400, 'Transaction has not been paid')
      const left = payment.amount - ofPayment(payment).reduce((sum, one) => sum + one.amount, 0)
      if (left === 0) return errorReply(400, 'Transaction has been fully reversed')
      const amount = Number(body.amount ?? left)
      if (amount > left) return errorReply(400, 'Refund amount cannot be more than transaction amount')
      const note = String(body.merchant_note ?? 'Refund')
      const createdAt = systemClock.now().toISOString()
      const refund = { id: 15_581_137 + refunds.length, payment, amount, note, behavior, createdAt }
      refunds.push(refund)
      // Every refund starts as pending.
      return fixtureReply('refund-created', { ...serializeCreated(refund), status: 'pending' })
    },
    list(query) {
      const perPage = Number(query.get('perPage') ?? 50)
      const start = (Number(query.get('page') ?? 1) - 1) * perPage
      const found = refunds.filter(({ createdAt }) => createdAt >= (query.get('from') ?? '')).toReversed()
      const data = found.slice(start, start + perPage).map(serializeFetched)
      const meta = { total: found.length, skipped: start, perPage: String(perPage), page: 1, pageCount: 1 }
      return { http: 200, body: { status: true, message: 'Refunds retrieved', data, meta } }
    },
    show(id) {
      const refund = refunds.find((one) => String(one.id) === id)
      return refund ? fixtureReply('refund', serializeFetched(refund)) : errorReply(404, 'Refund not found')
    },
    end(wanted) {
      behavior = wanted
    },
    given: (payment) =>
      ofPayment(payment).map(({ amount }) => BigInt(payment.currency === 'XOF' ? amount / 100 : amount)),
  }
}

function serializeCreated({ id, amount, note, payment, createdAt }: FakeRefund): Json {
  return { id, amount, currency: payment.currency, merchant_note: note, createdAt }
}

function serializeFetched(refund: FakeRefund): Json {
  const { data } = readFixture('refund')
  const { reference, id } = refund.payment
  return {
    ...Object(data),
    ...serializeCreated(refund),
    status: STATUSES[refund.behavior],
    transaction: id,
    transaction_reference: reference,
  }
}
