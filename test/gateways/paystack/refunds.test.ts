import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { RefundRequest } from '../../../src/gateways/gateway.ts'
import { errorReply, readFixture } from './fake-replies.ts'
import { altered, FIXTURE_KEY, makeAttempt, RETURN_URL, startFixedServer, startPaystack } from './rig.ts'

async function startPaid(t: TestContext) {
  const rig = await startPaystack(t)
  const { key } = makeAttempt()
  await rig.gateway.startCheckout(makeAttempt({ key }), { channel: 'card' }, RETURN_URL)
  rig.paystack.finish(key, { kind: 'pays' })
  const part = (minor: bigint): RefundRequest => ({
    key: randomUUID(),
    attemptKey: key,
    attemptReference: '1',
    amount: money(minor, 'NGN'),
    isFull: minor === 125_050n,
  })
  return { ...rig, part, given: () => rig.paystack.refunds(key) }
}

const request = (changes: Partial<RefundRequest> = {}): RefundRequest => ({
  key: '8a9e0f4c-2f57-4b8e-9e0b-6f4d7c1f2a30',
  attemptKey: FIXTURE_KEY,
  attemptReference: '4099260516',
  amount: money(125_050n, 'NGN'),
  isFull: true,
  ...changes,
})

describe('a refund at Paystack', () => {
  for (const kind of [
    'hang_after_acting',
    'cut_off_after_acting',
    'http_500_after_acting',
    'truncated',
  ] as const) {
    it(`a refund at Paystack of a part is executed once after a response lost by ${kind}, although Paystack has no idempotency key`, async (t) => {
      const { server, gateway, part, given } = await startPaid(t)
      const refund = part(10_000n)
      server.injectFault(kind, { on: /^POST \/refund$/ })
      assert.equal((await gateway.refund(refund)).kind, 'unknown')
      server.clearFaults()
      assert.equal((await gateway.refund(refund)).kind, 'succeeded')
      assert.equal((await gateway.verifyRefund(refund, null)).kind, 'succeeded')
      assert.deepEqual(await given(), [10_000n])
    })
  }

  it('is not submitted while an earlier one cannot be looked up', async (t) => {
    const { server, gateway, part, given } = await startPaid(t)
    server.injectFault('http_500', { on: /^GET \/refund$/ })
    const outcome = await gateway.refund(part(10_000n))
    assert.ok(outcome.kind === 'unknown')
    assert.equal(
      server.requests.filter(({ method, path }) => method === 'POST' && path === '/refund').length,
      0,
    )
    assert.deepEqual(await given(), [])
  })

  it('is found among more refunds than one page holds', async (t) => {
    const { server, gateway, part } = await startPaid(t)
    const first = part(1n)
    await gateway.refund(first)
    for (let count = 0; count < 150; count += 1) await gateway.refund(part(1n))
    server.requests.length = 0
    assert.equal((await gateway.verifyRefund(first, null)).kind, 'succeeded')
    assert.deepEqual(
      server.requests.map(({ path, query }) => `${path} ${query.get('perPage')} ${query.get('page')}`),
      ['/refund 100 1', '/refund 100 2'],
    )
    assert.match(server.requests[0]?.query.get('from') ?? '', /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  it('a refund at Paystack of an amount that is already refunded is the earlier refund, if that was ours', async (t) => {
    const lists = [[], [altered('refund', { status: 'processing' }).data]]
    const { gateway } = await startFixedServer(t, ({ method }) =>
      method === 'POST'
        ? errorReply(400, 'Transaction has been fully reversed')
        : { http: 200, body: { status: true, message: '', data: lists.shift() ?? [] } },
    )
    assert.deepEqual(await gateway.refund(request()), { kind: 'pending', gatewayReference: '15581137' })
    assert.equal((await gateway.refund(request())).kind, 'failed')
  })

  it('a refund at Paystack that Paystack refuses fails, with its message and without customer data', async (t) => {
    const { gateway } = await startFixedServer(t, ({ method }) =>
      method === 'POST'
        ? errorReply(400, 'Insufficient balance to refund owner@example.com. Please top up.')
        : errorReply(404, 'Entity not found'),
    )
    assert.deepEqual(await gateway.refund(request()), {
      kind: 'failed',
      message: 'Paystack refuses: Insufficient balance to refund … Please top up.',
      gatewayReference: null,
    })
  })

  const statuses = [
    ['pending', { kind: 'pending', gatewayReference: '15581137' }],
    ['processing', { kind: 'pending', gatewayReference: '15581137' }],
    ['needs-attention', { kind: 'pending', gatewayReference: '15581137' }],
    ['processed', { kind: 'succeeded', gatewayReference: '15581137' }],
  ] as const
  for (const [status, expected] of statuses) {
    it(`a refund at Paystack with the status ${status} has ${expected.kind}`, async (t) => {
      const { server, gateway } = await startFixedServer(t, {
        http: 200,
        body: altered('refund', { status }),
      })
      assert.deepEqual(await gateway.verifyRefund(request(), '15581137'), expected)
      assert.equal(server.requests[0]?.path, '/refund/15581137')
      assert.equal(server.requests[0]?.method, 'GET')
    })
  }

  it('fails if Paystack reports it as failed', async (t) => {
    const { gateway } = await startFixedServer(t, {
      http: 200,
      body: altered('refund', { status: 'failed' }),
    })
    assert.equal((await gateway.verifyRefund(request(), '15581137')).kind, 'failed')
  })

  it('a refund at Paystack with another amount, currency or an unknown status stays unknown', async (t) => {
    for (const odd of [{ amount: 125_051 }, { currency: 'GHS' }, { status: 'reversed' }, { amount: 1.5 }]) {
      const { gateway } = await startFixedServer(t, { http: 200, body: altered('refund', odd) })
      const outcome = await gateway.verifyRefund(request(), '15581137')
      assert.ok(outcome.kind === 'unknown', JSON.stringify(odd))
      assert.equal(outcome.reason, 'unrecognized')
    }
  })

  it('may have its amount as text', async (t) => {
    const { gateway } = await startFixedServer(t, {
      http: 200,
      body: altered('refund', { amount: '125050' }),
    })
    assert.equal((await gateway.verifyRefund(request(), '15581137')).kind, 'succeeded')
  })

  it('starts as pending', async (t) => {
    const { gateway } = await startFixedServer(t, ({ method }) =>
      method === 'POST'
        ? { http: 200, body: readFixture('refund-created') }
        : { http: 200, body: { status: true, message: 'Refunds retrieved', data: [] } },
    )
    assert.deepEqual(await gateway.refund(request()), { kind: 'pending', gatewayReference: '15581137' })
  })
})
