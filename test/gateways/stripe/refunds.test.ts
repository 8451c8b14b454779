import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { FakeReply } from '../fake-server.ts'
import { readFixture } from './fake-state.ts'
import { invalid, makeCharge, makeRefund, QUOTED, startFixedReply, startStripe } from './rig.ts'

describe('a refund at Stripe', () => {
  const refund = readFixture('refund')
  const request = makeRefund({ key: refund.metadata.cowry_refund_key })
  const states: [changes: object, expected: string][] = [
    [{ status: 'succeeded' }, 'succeeded'],
    [{ status: 'pending' }, 'pending'],
    [{ status: 'requires_action' }, 'pending'],
    [{ status: 'failed', failure_reason: 'lost_or_stolen_card' }, 'failed'],
    [{ status: 'canceled' }, 'failed'],
    [{ status: 'wandering' }, 'unrecognized'],
    [{ status: null }, 'unrecognized'],
    [{ metadata: {} }, 'succeeded'],
    [{ amount: 125_049 }, 'unrecognized'],
    [{ currency: 'usd' }, 'unrecognized'],
    [{ metadata: { cowry_refund_key: 'of another refund' } }, 'unrecognized'],
  ]
  for (const [changes, expected] of states) {
    it(`a refund at Stripe with ${JSON.stringify(changes)} is ${expected}`, async (t) => {
      const gateway = await startFixedReply(t, { http: 200, body: { ...refund, ...changes } })
      for (const outcome of [
        await gateway.refund?.(request),
        await gateway.verifyRefund?.(request, refund.id),
      ]) {
        assert.ok(outcome)
        assert.equal(outcome.kind === 'unknown' ? outcome.reason : outcome.kind, expected)
      }
    })
  }

  const errors: [title: string, reply: FakeReply, expected: string][] = [
    ['more than is left', { http: 400, body: invalid({ param: 'amount' }) }, 'failed'],
    [
      'what was given back already',
      { http: 400, body: invalid({ code: 'charge_already_refunded' }) },
      'failed',
    ],
    ['an unknown payment', { http: 404, body: readFixture('error-session-missing') }, 'failed'],
    [
      'a key that another request used',
      { http: 400, body: readFixture('error-idempotency') },
      'unrecognized',
    ],
    ['a rate limit with HTTP 400', { http: 400, body: readFixture('error-rate-limit') }, 'no_answer'],
    ['a lock', { http: 400, body: invalid({ code: 'lock_timeout' }) }, 'no_answer'],
    ['a rate limit', { http: 429, body: readFixture('error-rate-limit') }, 'no_answer'],
    ['a wrong key', { http: 401, body: readFixture('error-invalid-key') }, 'no_answer'],
    ['a request in progress', { http: 409, body: invalid() }, 'no_answer'],
  ]
  for (const [title, reply, expected] of errors) {
    it(`is ${expected} for ${title}`, async (t) => {
      const gateway = await startFixedReply(t, reply)
      const outcome = await gateway.refund?.(request)
      assert.ok(outcome)
      assert.equal(outcome.kind === 'unknown' ? outcome.reason : outcome.kind, expected)
      if ('message' in outcome) assert.doesNotMatch(outcome.message, QUOTED)
    })
  }

  it('a refund at Stripe of a charge is made without reading its session', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const charge = makeCharge()
    const charged = await gateway.chargeSaved?.(charge, provider.savedCredential('approves'))
    assert.ok(charged?.kind === 'succeeded')
    const outcome = await gateway.refund?.(
      makeRefund({
        attemptKey: charge.key,
        attemptReference: charged.gatewayReference,
        amount: money(50n, 'KES'),
        isFull: false,
      }),
    )
    assert.equal(outcome?.kind, 'succeeded')
    assert.deepEqual(provider.refunds(charge.key), [50n])
    assert.equal(provider.server.requests.filter(({ method }) => method === 'GET').length, 0)
  })
})
