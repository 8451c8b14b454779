// Faults between a reserved slot of a link and the payment: a process dies, a gateway does not execute, a payer
// switches the method, a payment arrives after the slot was released, several payments want the last slot (F-28, F-29, F-35).

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { initiatePayment } from '../../src/checkout/initiate.ts'
import { cancelAttempt, refreshCheckout } from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { ApiError } from '../../src/core/errors.ts'
import { money } from '../../src/core/money.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { LinksApp } from '../../src/links/app.ts'
import { countOnePayment } from '../../src/links/link-events.ts'
import { createLink, requireLink } from '../../src/links/service.ts'
import { releaseIdleSlots, reserveSlot } from '../../src/links/slots.ts'
import { requireMerchant } from '../../src/merchants/service.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import { CUSTOMER, newReference } from '../support/builders.ts'
import { eventsOf } from '../support/payment-records.ts'
import {
  CANCELLED,
  NO_ANSWER,
  NOT_SENT,
  PENDING,
  paid,
  paymentsRig,
  STARTED,
} from '../support/payments-rig.ts'

const HOUR_MS = 3_600_000

const rig = await paymentsRig({ after })
const { gateway, merchant, clock } = rig

const withLinks = (app: typeof rig.app): LinksApp => ({
  ...app,
  requireMerchant: (id) => requireMerchant(app, id),
  checkCapacity: (payment) => reserveSlot(app, payment),
})
const app = withLinks(rig.app)
const otherProcess = withLinks(rig.anotherApp())

afterEach(() => rig.endTest())

async function newLink(maxPayments: number) {
  const { record } = await createLink(
    app,
    merchant,
    { title: 'A ticket', amount: 100, currency: 'KES', maxPayments },
    undefined,
  )
  return record
}

async function startPayment(link: { id: string }): Promise<PaymentRow> {
  const input = {
    reference: newReference(),
    amount: money(10_000n, 'KES'),
    description: null,
    metadata: {},
    customer: { ...CUSTOMER, country: null },
    country: 'KE',
    redirectUrl: null,
    isRecurring: false,
    linkId: link.id,
  }
  return (await initiatePayment(app, merchant, input, null)).payment
}

const readCheckout = ({ reference }: PaymentRow) => requireCheckoutPayment(app, merchant, reference)

async function press(payment: PaymentRow, by: LinksApp = app): Promise<string> {
  try {
    return (await startAttempt(by, await readCheckout(payment), { channel: 'card' })).payment.status
  } catch (error) {
    if (error instanceof ApiError) return error.code
    throw error
  }
}

/** The payer submits, and the gateway accepts the attempt. */
async function started(payment: PaymentRow): Promise<void> {
  gateway.answers('startCheckout', STARTED)
  assert.equal(await press(payment), 'processing')
}

async function verifyPayment(payment: PaymentRow): Promise<string> {
  clock.advance(5_000)
  return (await refreshCheckout(app, await readCheckout(payment), 'return')).payment.status
}

/** The gateway sends a webhook during a status check, and has declined the attempt. */
async function declinedWithWebhook(payment: PaymentRow): Promise<void> {
  await started(payment)
  clock.advance(5_000)
  gateway.answers('verify', async () => {
    await rig.deliverWebhook(await rig.attempt(payment.id))
    return CANCELLED
  })
  await rig.resolve()
  assert.equal((await rig.payment(payment.id)).status, 'pending')
}

async function stateOf({ id }: { id: string }): Promise<string> {
  const { paymentsCount, slotsReserved, status } = await requireLink(app, merchant, id)
  return `${paymentsCount} paid, ${slotsReserved} taken, ${status}`
}

describe('a slot at a link', () => {
  it('a slot is kept while the outcome is unknown, and released with a decline', async () => {
    const link = await newLink(1)
    const [one, another] = [await startPayment(link), await startPayment(link)]
    gateway.answers('startCheckout', NO_ANSWER)
    assert.equal(await press(one), 'processing')
    assert.equal(await press(another), 'payment_link_busy')
    gateway.answers('verify', CANCELLED)
    assert.equal(await verifyPayment(one), 'pending')
    assert.equal(await stateOf(link), '0 paid, 0 taken, active')
    await started(another)
    assert.equal(await press(one), 'payment_link_busy')
    gateway.answers('verify', paid())
    assert.equal(await verifyPayment(another), 'successful')
    assert.equal(await press(one), 'payment_link_ended')
    assert.equal(await press(one), 'invalid_state')
    assert.equal((await rig.payment(one.id)).status, 'expired')
  })

  it('a slot stays reserved for a payer who switches the method while the first page can still be paid', async () => {
    const link = await newLink(1)
    const [one, another] = [await startPayment(link), await startPayment(link)]
    await started(one)
    gateway.answers('cancel', PENDING)
    assert.equal((await cancelAttempt(app, await readCheckout(one))).payment.status, 'pending')
    assert.equal(await press(another), 'payment_link_busy')
    await started(one)
    gateway.answers('verify', paid())
    assert.equal(await verifyPayment(one), 'successful')
    assert.equal(await stateOf(link), '1 paid, 1 taken, completed')
  })

  it('a slot stays reserved for a payer who was declined on a page that can still be paid (F-28)', async () => {
    const { behavior } = gateway
    gateway.behavior = { ...behavior, paysAfterDecline: true }
    const link = await newLink(1)
    const [one, another] = [await startPayment(link), await startPayment(link)]
    await started(one)
    gateway.answers('verify', CANCELLED)
    assert.equal(await verifyPayment(one), 'pending')
    assert.equal((await rig.attempt(one.id)).status, 'declined')
    assert.equal(await press(another), 'payment_link_busy')
    clock.advance(180_000)
    assert.equal(await releaseIdleSlots(app), 0, 'the page is still polled')
    gateway.answers('verify', paid())
    assert.equal(await verifyPayment(one), 'successful')
    assert.equal(await press(another), 'payment_link_ended')
    assert.equal(await stateOf(link), '1 paid, 1 taken, completed')
    gateway.behavior = behavior
  })

  it('the slot of a declined payer is released when the checkout is over', async () => {
    const { behavior } = gateway
    gateway.behavior = { ...behavior, paysAfterDecline: true }
    const link = await newLink(1)
    const one = await startPayment(link)
    await started(one)
    gateway.answers('verify', CANCELLED, CANCELLED)
    assert.equal(await verifyPayment(one), 'pending')
    assert.equal(await stateOf(link), '0 paid, 1 taken, active')
    clock.advance(2 * HOUR_MS)
    await rig.expire()
    assert.equal((await rig.payment(one.id)).status, 'expired')
    assert.equal(await stateOf(link), '0 paid, 0 taken, active')
    gateway.behavior = behavior
  })

  it('a slot is kept until the webhook that came with the decline is processed, and then released at once (F-43)', async () => {
    const link = await newLink(1)
    const one = await startPayment(link)
    await declinedWithWebhook(one)
    assert.equal(await stateOf(link), '0 paid, 1 taken, active', 'the webhook may be about a success')
    gateway.answers('verify', CANCELLED)
    await rig.resolve()
    assert.equal(await stateOf(link), '0 paid, 0 taken, active')
  })

  it('a slot that was reserved again is not released by the last status check of an earlier attempt', async () => {
    const link = await newLink(1)
    const one = await startPayment(link)
    await declinedWithWebhook(one)
    clock.advance(1_000)
    assert.equal(await reserveSlot(app, one), 'available')
    gateway.answers('verify', CANCELLED)
    await rig.resolve()
    assert.equal(await stateOf(link), '0 paid, 1 taken, active', 'the next attempt is about to start')
    await started(one)
  })

  it('a slot is released when the gateway did not execute, and no attempt starts without one (F-27)', async () => {
    const link = await newLink(1)
    const [one, another] = [await startPayment(link), await startPayment(link)]
    gateway.answers('startCheckout', NOT_SENT)
    assert.equal(await press(one), 'pending')
    await started(another)
    const withoutCapacityCheck: LinksApp = { ...app, checkCapacity: async () => 'available' }
    const sent = startAttempt(withoutCapacityCheck, await readCheckout(one), { channel: 'card' })
    await assert.rejects(sent, /has no slot at its link/)
    assert.equal((await rig.payment(one.id)).status, 'pending')
  })

  it('a slot that was reserved by a process which died before the attempt is released after a timeout', async () => {
    const link = await newLink(1)
    const [one, another] = [await startPayment(link), await startPayment(link)]
    assert.equal(await reserveSlot(app, one), 'available')
    assert.equal(await press(another), 'payment_link_busy')
    assert.equal(await releaseIdleSlots(app), 0, 'its attempt may be about to start')
    clock.advance(180_000)
    assert.equal(await releaseIdleSlots(app), 1)
    await started(another)
    clock.advance(180_000)
    assert.equal(await releaseIdleSlots(app), 0, 'a payment that is at a gateway keeps its slot')
  })

  it('a slot that is reserved again gets a new timeout: it is not released between the submission and the attempt', async () => {
    const link = await newLink(1)
    const one = await startPayment(link)
    assert.equal(await reserveSlot(app, one), 'available')
    clock.advance(180_000)
    assert.equal(await reserveSlot(app, one), 'available')
    assert.equal(await releaseIdleSlots(app), 0)
    await started(one)
  })

  it('a payment reserves one slot, also when two processes reserve it at once', async () => {
    const link = await newLink(2)
    const [one, another] = [await startPayment(link), await startPayment(link)]
    gateway.answers('startCheckout', STARTED, STARTED)
    await Promise.all([press(one), press(one, otherProcess)])
    assert.equal(await stateOf(link), '0 paid, 1 taken, active')
    gateway.clearAnswers()
    await started(another)
    assert.equal(await stateOf(link), '0 paid, 2 taken, active')
  })

  it('only one of several payments gets the last slot, when two processes reserve it for them at once (F-28)', async () => {
    for (let round = 0; round < 5; round += 1) {
      const link = await newLink(1)
      const payments = await Promise.all(Array.from({ length: 6 }, () => startPayment(link)))
      const capacities = await Promise.all(
        payments.map((payment, n) => reserveSlot(n % 2 ? otherProcess : app, payment)),
      )
      assert.deepEqual(capacities.toSorted(), ['available', ...Array(payments.length - 1).fill('busy')])
      assert.equal(await stateOf(link), '0 paid, 1 taken, active')
    }
  })

  it('a late payment is counted after its slot was released, and shown as one above the limit (F-35)', async () => {
    const link = await newLink(1)
    const [late, another] = [await startPayment(link), await startPayment(link)]
    await started(late)
    clock.advance(2 * HOUR_MS)
    gateway.answers('verify', PENDING)
    await rig.expire()
    assert.equal((await rig.payment(late.id)).status, 'expired')
    assert.equal(await stateOf(link), '0 paid, 0 taken, active')
    const fresh = await startPayment(link)
    assert.equal(await press(another), 'invalid_state', 'its checkout has expired')
    await started(fresh)
    gateway.answers('verify', paid())
    assert.equal(await verifyPayment(fresh), 'successful')
    gateway.answers('verify', paid())
    await rig.deliverWebhook(await rig.attempt(late.id))
    await rig.resolve()
    assert.equal((await rig.payment(late.id)).status, 'successful')
    assert.equal(await stateOf(link), '2 paid, 2 taken, completed')
  })
})

const selectPaid = sql<{ slots: number }>`
select count(*)::integer as slots
from payment_link_slots
where link_id = $1 and paid_at is not null`

describe('the count of a link', () => {
  it('the count of a link is correct before and after the job, and concurrent jobs write each event once', async () => {
    while ((await countOnePayment(app)) > 0);
    const link = await newLink(3)
    for (let n = 0; n < 3; n += 1) {
      const payment = await startPayment(link)
      await started(payment)
      gateway.answers('verify', paid())
      assert.equal(await verifyPayment(payment), 'successful')
    }
    assert.equal((await rig.db.query(selectPaid, [link.id]))[0]?.slots, 3)
    assert.equal(await stateOf(link), '3 paid, 3 taken, completed')
    const counted = await Promise.all([app, otherProcess, app, otherProcess, app].map(countOnePayment))
    assert.equal(counted.filter((count) => count === 1).length, 3)
    assert.equal(await stateOf(link), '3 paid, 3 taken, completed')
    const events = await eventsOf(rig.db, link.id)
    assert.deepEqual(
      events.map(({ version, type, body }) => `${version} ${type} ${body.data.paymentsCount}`),
      [
        '1 payment_link.paid 1',
        '2 payment_link.paid 2',
        '3 payment_link.paid 3',
        '4 payment_link.completed 3',
      ],
    )
  })
})
