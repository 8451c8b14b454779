import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../../core/money.ts'
import type { Outcome } from '../gateway.ts'
import { withDisputes } from './disputes.ts'
import type { Reply } from './response.ts'

const paid: Extract<Outcome, { kind: 'succeeded' }> = {
  kind: 'succeeded',
  gatewayReference: '4099260516',
  paid: money(125_050n, 'NGN'),
  key: 'k',
  savedMethod: null,
  paidAt: new Date('2026-11-15T09:30:56.000Z'),
}
const kept = { paid, isReversed: false }

// As the JSON parser returns them: numbers as their digits.
const dispute = (changes: object = {}) => ({
  id: '358950',
  status: 'awaiting-merchant-feedback',
  resolution: null,
  refund_amount: '100000',
  currency: 'NGN',
  ...changes,
})
const dataReply = (data: unknown): Reply => ({ kind: 'data', data })

describe('disputes at Paystack', () => {
  it('are open until resolved, then won if the claim was declined and lost if it was accepted', () => {
    for (const [status, resolution, ours] of [
      ['awaiting-merchant-feedback', null, 'open'],
      ['awaiting-bank-feedback', null, 'open'],
      ['pending', null, 'open'],
      ['resolved', 'declined', 'won'],
      ['resolved', 'merchant-accepted', 'lost'],
      ['resolved', 'auto-accepted', 'lost'],
      ['archived', 'declined', 'won'],
      ['archived', 'merchant-accepted', 'lost'],
    ]) {
      const report = { status: ours, amount: money(100_000n, 'NGN'), reference: '358950' }
      for (const data of [[dispute({ status, resolution })], dispute({ status, resolution })])
        assert.deepEqual(withDisputes(dataReply(data), kept), { ...paid, disputes: [report] })
    }
  })

  it('end with the money where the transaction says it is, if they end without a known resolution', () => {
    const statusOf = (changes: object, isReversed: boolean) => {
      const outcome = withDisputes(dataReply([dispute(changes)]), { paid, isReversed })
      return outcome.kind === 'succeeded' ? outcome.disputes?.[0]?.status : outcome
    }
    for (const status of ['archived', 'resolved']) {
      assert.equal(statusOf({ status, resolution: null }, false), 'won')
      assert.equal(statusOf({ status, resolution: null }, true), 'lost')
      assert.equal(statusOf({ status, resolution: 'maybe' }, true), 'lost')
    }
  })

  it('have the deadline of the merchant, in either spelling, until the merchant has responded', () => {
    const deadlineOf = (changes: object) => {
      const outcome = withDisputes(dataReply([dispute(changes)]), kept)
      return outcome.kind === 'succeeded' ? outcome.disputes?.[0]?.respondBy : outcome
    }
    const time = '2026-11-20T18:00:00.000Z'
    assert.deepEqual(deadlineOf({ dueAt: time }), new Date(time))
    assert.deepEqual(deadlineOf({ due_at: time }), new Date(time))
    for (const changes of [
      { dueAt: null },
      { dueAt: 'soon' },
      { dueAt: time, status: 'awaiting-bank-feedback' },
    ])
      assert.equal(deadlineOf(changes), undefined)
  })

  it('are absent for a payment without any', () => {
    const nothing: Reply = {
      kind: 'refused',
      http: 404,
      providerMessage: '',
      type: '',
      code: '',
      message: 'none',
    }
    for (const reply of [dataReply([]), dataReply(null), nothing])
      assert.deepEqual(withDisputes(reply, kept), paid)
  })

  it('cover the whole payment if they name no amount, or another currency', () => {
    for (const changes of [{ refund_amount: null }, { refund_amount: '0' }, { currency: 'USD' }]) {
      const outcome = withDisputes(dataReply([dispute(changes)]), kept)
      assert.ok(outcome.kind === 'succeeded')
      assert.deepEqual(outcome.disputes?.[0]?.amount, paid.paid)
    }
  })

  it('are returned completely, latest first', () => {
    const lost = { status: 'resolved', resolution: 'merchant-accepted' }
    const list = [dispute({ id: '9', ...lost }), dispute({ id: '8' }), dispute({ id: '10', ...lost })]
    const outcome = withDisputes(dataReply(list), kept)
    assert.ok(outcome.kind === 'succeeded')
    assert.deepEqual(
      outcome.disputes?.map(({ reference, status }) => `${reference} ${status}`),
      ['10 lost', '9 lost', '8 open'],
    )
  })

  it('leave the outcome unknown if they have unknown values or the request gets no response', () => {
    const odd: Reply[] = [
      dataReply([dispute({ status: 'asleep' })]),
      dataReply([dispute({ status: 'resolved', resolution: 'maybe' })]),
      dataReply([dispute({ id: 'x' })]),
      dataReply('none'),
      { kind: 'refused', http: 401, providerMessage: '', type: '', code: '', message: 'bad key' },
      { kind: 'unknown', reason: 'no_answer', message: 'timeout' },
    ]
    for (const reply of odd) assert.equal(withDisputes(reply, kept).kind, 'unknown')
  })
})
