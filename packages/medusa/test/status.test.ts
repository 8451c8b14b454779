import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PAYMENT_STATUSES } from '../../../src/payments/states.ts'
import { hasEnded, sessionStatusOf, wasPaid } from '../src/status.ts'

describe('the status of a session', () => {
  it('is captured only while the money is here', () => {
    const captured = PAYMENT_STATUSES.filter((status) => sessionStatusOf({ status }) === 'captured')
    assert.deepEqual(captured, ['successful', 'partially_refunded'])
    assert.equal(sessionStatusOf({ status: 'refunded', statusReason: 'refund_failed' }), 'captured')
  })

  it('is pending while a dispute is open, and canceled when the money went back', () => {
    assert.equal(sessionStatusOf({ status: 'disputed' }), 'pending')
    assert.equal(sessionStatusOf({ status: 'refunded' }), 'canceled')
    assert.equal(sessionStatusOf({ status: 'reversed' }), 'canceled')
  })

  it('has ended without money, although the payment may have been paid once', () => {
    const ended = PAYMENT_STATUSES.filter((status) => hasEnded({ status }))
    assert.deepEqual(ended, ['failed', 'abandoned', 'expired', 'refunded', 'reversed'])
    const paid = PAYMENT_STATUSES.filter((status) => wasPaid({ status }))
    assert.deepEqual(paid, ['successful', 'partially_refunded', 'refunded', 'disputed', 'reversed'])
  })
})
