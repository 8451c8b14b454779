// Refunds at Paymob, which are recognized by how much of the payment was returned.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { RefundRequest } from '../../../src/gateways/gateway.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { payNew, startPaymob } from './rig.ts'

describe('a refund at Paymob', () => {
  const prepare = async (t: Parameters<typeof startPaymob>[0]) => {
    const { gateway, provider, receive } = await startPaymob(t)
    const { attempt, paid, reference } = await payNew({ gateway, provider })
    const request = (minor: bigint, before = 0n): RefundRequest => ({
      ...{ key: randomUUID(), attemptKey: attempt.key, attemptReference: paid.gatewayReference },
      ...{ amount: money(minor, 'EGP'), isFull: false },
      ...(before > 0n && { refundedBefore: money(before, 'EGP') }),
    })
    return { gateway, provider, receive, attempt, reference, request }
  }

  it('is found by the returned amount after a lost response, also after earlier refunds of the same amount', async (t) => {
    const { gateway, provider, request, attempt, reference } = await prepare(t)
    assert.equal((await gateway.refund?.(request(1_000n)))?.kind, 'succeeded')
    const second = request(1_000n, 1_000n)
    assert.equal((await gateway.verifyRefund?.(second, null))?.kind, 'unknown')
    provider.server.injectFault('cut_off_after_acting', { on: /refund$/, times: 1 })
    assert.equal((await gateway.refund?.(second))?.kind, 'unknown')
    assert.equal((await gateway.verifyRefund?.(second, null))?.kind, 'succeeded')
    assert.deepEqual(await provider.refunds?.(attempt.key), [1_000n, 1_000n])
    // The last transaction of the order is a refund now.
    assert.equal((await gateway.verify(attempt, reference)).kind, 'succeeded')
  })

  it('is not sent if Paymob has returned an amount that was not requested here', async (t) => {
    const { gateway, provider, request, attempt } = await prepare(t)
    provider.refundInPaymob(attempt.key, 700)
    const outcome = await gateway.refund?.(request(1_000n))
    assert.equal(outcome?.kind, 'failed')
    const checked = await gateway.verifyRefund?.(request(1_000n), null)
    assert.ok(checked?.kind === 'unknown' && checked.reason === 'unrecognized')
    assert.deepEqual(await provider.refunds?.(attempt.key), [700n])
  })

  it('fails, and does not succeed, if someone else has returned the same amount', async (t) => {
    const { gateway, provider, request, attempt } = await prepare(t)
    provider.refundInPaymob(attempt.key, 1_000)
    assert.equal((await gateway.refund?.(request(1_000n)))?.kind, 'failed')
    assert.equal((await gateway.refund?.(request(1_000n, 1_000n)))?.kind, 'succeeded')
    assert.deepEqual(await provider.refunds?.(attempt.key), [1_000n, 1_000n])
  })

  it('waits while Paymob does not count an earlier one that is pending', async (t) => {
    const { gateway, provider, request, attempt } = await prepare(t)
    provider.setRefundBehavior?.('waits')
    const first = await gateway.refund?.(request(1_000n))
    assert.equal(first?.kind, 'pending')
    provider.setRefundBehavior?.('succeeds')
    const second = request(2_500n, 1_000n)
    const waiting = await gateway.refund?.(second)
    assert.ok(waiting?.kind === 'unknown' && waiting.reason === 'not_sent' && waiting.queued)
    provider.endRefundsInPaymob(attempt.key)
    assert.equal((await gateway.refund?.(second))?.kind, 'succeeded')
    assert.deepEqual(await provider.refunds?.(attempt.key), [1_000n, 2_500n])
  })

  it('is listed without a name if more was returned than we requested, and a callback says so', async (t) => {
    const { gateway, provider, request, attempt, receive } = await prepare(t)
    const ours = request(1_000n)
    assert.equal((await gateway.refund?.(ours))?.kind, 'succeeded')
    const { attemptKey, attemptReference } = ours
    const listed = async (minor: bigint) => {
      const refunded = money(minor, 'EGP')
      const named = { attemptKey, attemptReference, receiptNumber: attemptReference }
      const list = await gateway.listRefunds?.({ kind: 'payment', ...named, currency: 'EGP', refunded })
      assert.ok(list?.kind === 'refunds')
      return list.refunds.map(({ reference, amount, status, key }) => [reference, amount?.minor, status, key])
    }
    assert.deepEqual(await listed(1_000n), [])
    const reading = receive(provider.refundInPaymob(attempt.key, 700))
    assert.ok(reading.kind === 'payment' && reading.key === attempt.key && reading.isRefund)
    const unnamed = [`${attemptReference}-returned-1700`, 700n, 'unrecognized', null]
    assert.deepEqual(await listed(1_000n), [unnamed])
    assert.deepEqual(await listed(1_700n), [])
    const period = { from: systemClock.now(), to: systemClock.now() }
    assert.equal((await gateway.listRefunds?.({ kind: 'period', ...period }))?.kind, 'unknown')
  })

  it('fails if Paymob says that the amount is too large', async (t) => {
    const { gateway, request } = await prepare(t)
    assert.equal((await gateway.refund?.(request(125_051n)))?.kind, 'failed')
  })
})
