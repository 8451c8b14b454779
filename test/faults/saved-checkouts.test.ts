// A payer charges a saved method on the checkout page, and something happens in between: the method ends, the answer is lost,
// the checkout expires, another process charges at the same time.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { initiatePayment } from '../../src/checkout/initiate.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { money } from '../../src/core/money.ts'
import { revokeMethod } from '../../src/customers/methods.ts'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import { payWithSavedMethod } from '../../src/returning-payers/start.ts'
import { CUSTOMER, newReference } from '../support/builders.ts'
import {
  CANCELLED,
  CARD,
  NAME,
  NO_ANSWER,
  NOT_FOUND,
  paid,
  paymentsRig,
  saveAnyMethod,
} from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
afterEach(() => rig.endTest())

const MINUTE_MS = 60_000

/** An open checkout of a customer with a saved card, which the page offers. */
async function returningPayer() {
  const { customerId, customerEmail } = await rig.checkout()
  const owner = {
    ...{ merchantId: rig.merchant.id, customerId, gateway: NAME, accountId: null },
    isRecurring: true,
  }
  const { id: methodId } = await saveAnyMethod(rig.app, owner, CARD)
  const input = {
    reference: newReference(),
    amount: money(10_000n, 'KES'),
    ...{ description: null, metadata: {}, country: 'KE', redirectUrl: null, isRecurring: false },
    customer: { ...CUSTOMER, email: customerEmail, country: null },
    offerSavedMethods: true,
  }
  const { payment } = await initiatePayment(rig.app, rig.merchant, input, null)
  const view = () => requireCheckoutPayment(rig.app, rig.merchant, payment.reference)
  return {
    id: payment.id,
    methodId,
    pay: async (app = rig.app) => payWithSavedMethod(app, await view(), methodId),
    revoke: () => revokeMethod(rig.app, rig.merchant, customerId, methodId),
  }
}

/** The service that runs the callback at this point. */
const appWith = (point: Failpoint, happens: () => Promise<unknown>) => ({
  ...rig.app,
  failpoints: {
    hit: async (name: Failpoint) => {
      if (name === point) await happens()
    },
  },
})

const callsSince = (count: number) => rig.gateway.calls.slice(count).map((call) => call.split(' ')[0])
const crash = () => Promise.reject(new Error('died'))

describe('a saved method that is charged at a checkout', () => {
  it('is not charged if it is revoked between the check and the record', async () => {
    const { pay, revoke, id } = await returningPayer()
    const before = rig.gateway.calls.length
    await pay(appWith('checkout.before_start', revoke))
    assert.deepEqual(callsSince(before), [])
    const { status, attemptsUsed } = await rig.payment(id)
    assert.deepEqual([status, attemptsUsed], ['pending', 0])
  })

  it('is submitted again under its key if the process died before the call, and pays once', async () => {
    const { pay, id, methodId } = await returningPayer()
    await assert.rejects(pay(appWith('charge.after_record', crash)), /died/)
    rig.clock.advance(MINUTE_MS)
    rig.gateway.answers('verify', NOT_FOUND)
    rig.gateway.answers('chargeSaved', paid())
    await rig.resolve()
    const { status, paymentMethodId } = await rig.payment(id)
    assert.deepEqual([status, paymentMethodId, await rig.credits(id)], ['successful', methodId, 1])
  })

  it('is not submitted again after the checkout has expired: a person decides', async () => {
    const { pay, id } = await returningPayer()
    await assert.rejects(pay(appWith('charge.after_record', crash)), /died/)
    rig.clock.advance(61 * MINUTE_MS)
    const before = rig.gateway.calls.length
    rig.gateway.answers('verify', NOT_FOUND)
    await rig.resolve()
    assert.deepEqual(callsSince(before), ['verify'])
    assert.equal((await rig.attempt(id)).status, 'requires_review')
  })

  it('is asked about while its outcome is unknown, and no second attempt starts', async () => {
    const { pay, id } = await returningPayer()
    rig.gateway.answers('chargeSaved', NO_ANSWER)
    await pay()
    const before = rig.gateway.calls.length
    await pay()
    assert.deepEqual(callsSince(before), [])
    rig.clock.advance(MINUTE_MS)
    rig.gateway.answers('verify', paid())
    await rig.resolve()
    const { status, attemptsUsed } = await rig.payment(id)
    assert.deepEqual([status, attemptsUsed, await rig.credits(id)], ['successful', 1, 1])
  })

  it('executes once if two processes charge it at the same time', async () => {
    const { pay, id } = await returningPayer()
    rig.gateway.answers('chargeSaved', paid())
    const before = rig.gateway.calls.length
    const settled = await Promise.allSettled([pay(), pay(rig.anotherApp())])
    // One that reads the payment after the other has paid is refused.
    const refusals = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    assert.ok(refusals.length <= 1 && refusals.every((code) => code === 'invalid_state'), String(refusals))
    assert.deepEqual(callsSince(before), ['chargeSaved'])
    assert.equal((await rig.payment(id)).status, 'successful')
  })

  it('is completed with its credential where the provider waits for a second call', async () => {
    const { pay, id } = await returningPayer()
    rig.gateway.answers('chargeSaved', { kind: 'pending', gatewayReference: 'gw-1', canComplete: true })
    rig.gateway.answers('complete', paid())
    await pay()
    assert.deepEqual([(await rig.payment(id)).status, await rig.credits(id)], ['successful', 1])
  })

  it('leaves the payment open and without a method after a decline, and may be tried again', async () => {
    const { pay, id, methodId } = await returningPayer()
    rig.gateway.answers('chargeSaved', CANCELLED, paid())
    await pay()
    const declined = await rig.payment(id)
    assert.deepEqual([declined.status, declined.paymentMethodId], ['pending', null])
    await pay()
    const { status, paymentMethodId } = await rig.payment(id)
    assert.deepEqual([status, paymentMethodId], ['successful', methodId])
    assert.equal((await rig.attempt(id, 2)).paymentMethodId, methodId)
  })
})
