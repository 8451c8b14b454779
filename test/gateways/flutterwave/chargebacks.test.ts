// The answers of Flutterwave to the list of chargebacks, which decide about money that was paid.

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import type { Outcome } from '../../../src/gateways/gateway.ts'
import type { FakeReply } from '../fake-server.ts'
import { type Json, readFixture } from './fake.ts'
import { errorReply, makeAttempt, NOW, startFixedServer } from './rig.ts'

const FLW_REF = 'FLW-MOCK-5b1c27e08e6b4a0f'

const listOf = (...rows: Json[]): FakeReply => ({
  http: 200,
  body: {
    ...{ status: 'success', message: 'Chargebacks fetched' },
    data: rows.map((row) => ({ id: 7, amount: 1250.5, flw_ref: FLW_REF, status: 'initiated', ...row })),
  },
})

/** A server whose list of chargebacks has this answer; the payment itself is paid. */
const startWith = (t: TestContext, reply: FakeReply) =>
  startFixedServer(t, ({ path }) =>
    path === '/v3/chargebacks' ? reply : { http: 200, body: readFixture('verify-card') },
  )

async function verifyPaid(t: TestContext, reply: FakeReply): Promise<Outcome> {
  const { gateway } = await startWith(t, reply)
  return gateway.verify({ ...makeAttempt(), isPaid: true }, null)
}

async function disputesOf(t: TestContext, reply: FakeReply) {
  const outcome = await verifyPaid(t, reply)
  assert.ok(outcome.kind === 'succeeded', inspect(outcome))
  return outcome.disputes?.map(({ reference, status, amount }) => `${reference} ${status} ${amount.minor}`)
}

describe('the chargebacks of a payment at Flutterwave', () => {
  it('have the documented statuses and the claimed amount, latest first', async (t) => {
    const statuses = ['initiated', 'pending', 'declined', 'accepted', 'lost', 'won', 'Won']
    const rows = statuses.map((status, index) => ({ id: index + 8, status, amount: 100.25 + index }))
    assert.deepEqual(await disputesOf(t, listOf(...rows)), [
      ...['14 won 10625', '13 won 10525', '12 lost 10425', '11 lost 10325'],
      ...['10 open 10225', '9 open 10125', '8 open 10025'],
    ])
    assert.deepEqual(await disputesOf(t, listOf({ amount: null })), ['7 open 125050'])
  })

  it('have the due date of the merchant until the merchant has declined', async (t) => {
    const due_date = '2026-11-20T18:00:00.000Z'
    const deadlineOf = async (row: Record<string, unknown>) => {
      const outcome = await verifyPaid(t, listOf(row))
      return outcome.kind === 'succeeded' ? outcome.disputes?.[0]?.respondBy : outcome
    }
    assert.deepEqual(await deadlineOf({ status: 'initiated', due_date }), new Date(due_date))
    assert.equal(await deadlineOf({ status: 'declined', due_date }), undefined)
    assert.equal(await deadlineOf({ status: 'initiated', due_date: null }), undefined)
  })

  it('are none if the list is empty, has only those of other payments, or is not found', async (t) => {
    const replies = [listOf(), listOf({ flw_ref: 'FLW-OTHER' }), errorReply('No chargeback found', 404)]
    for (const reply of replies) assert.equal(await disputesOf(t, reply), undefined)
  })

  it('stay unknown after any other answer, and only a missing answer is trouble of the gateway', async (t) => {
    const cases: [FakeReply, string][] = [
      [listOf({ status: 'mediated' }), 'unrecognized'],
      [listOf({ id: 'seven' }), 'unrecognized'],
      [errorReply('Something else'), 'unrecognized'],
      [errorReply('Forbidden', 403), 'no_answer'],
      [{ http: 502, body: '' }, 'no_answer'],
      [{ http: 200, body: '<html>' }, 'unreadable'],
    ]
    for (const [reply, reason] of cases) {
      const outcome = await verifyPaid(t, reply)
      assert.ok(outcome.kind === 'unknown', inspect(outcome))
      assert.equal(outcome.reason, reason, inspect(reply))
    }
  })

  it('are asked for only if the payment is known as paid', async (t) => {
    const { gateway, server } = await startWith(t, listOf({}))
    await gateway.verify(makeAttempt(), null)
    assert.ok(!server.requests.some(({ path }) => path === '/v3/chargebacks'))
  })

  it('are listed by day over all pages, with every name of their payments', async (t) => {
    const row = { tx_ref: 'our-key', transaction_id: 4_975_363, status: 'mediated' }
    const { gateway, server } = await startWith(t, listOf(row))
    const list = await gateway.listDisputes({ from: new Date('2026-11-14T08:00:00.000Z'), to: NOW })
    assert.deepEqual(list, {
      kind: 'disputes',
      disputes: [{ reference: '7', status: 'unrecognized', paymentNames: ['our-key', FLW_REF, '4975363'] }],
    })
    assert.deepEqual(
      server.requests.map(({ query }) => String(query)),
      ['from=2026-11-14&to=2026-11-15&page=1', 'from=2026-11-14&to=2026-11-15&page=2'],
    )
  })
})
