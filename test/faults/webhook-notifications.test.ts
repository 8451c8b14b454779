// F-35 and F-41: webhooks about attempts that seemed final, webhooks during a status check, and webhooks whose record
// is lost. A late payment is accepted, whatever was attempted meanwhile.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { cancelAttempt } from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { money } from '../../src/core/money.ts'
import { serializeMethod } from '../../src/customers/methods.ts'
import { saveGatewayWebhook } from '../../src/gateway-webhooks/queries.ts'
import { gatewayWebhookRoutes } from '../../src/gateway-webhooks/receive.ts'
import type { Outcome } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import { methodOf } from '../../src/payments/views.ts'
import { pathOf } from '../support/payment-records.ts'
import {
  CANCELLED,
  CARD,
  NAME,
  NO_ANSWER,
  NOT_FOUND,
  PENDING,
  paid,
  paymentsRig,
  STARTED,
} from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { app, clock, db, gateway } = rig

const HOUR_MS = 3_600_000
// Longer than any lease and than the longest interval between two polls.
const LATER_MS = 2 * HOUR_MS

afterEach(() => rig.endTest())

const readCheckout = (payment: PaymentRow) => requireCheckoutPayment(app, rig.merchant, payment.reference)

async function start(payment: PaymentRow): Promise<void> {
  gateway.answers('startCheckout', STARTED)
  await startAttempt(app, await readCheckout(payment), { channel: 'card' })
}

async function cancelAsPayer(payment: PaymentRow): Promise<void> {
  gateway.answers('cancel', CANCELLED)
  await cancelAttempt(app, await readCheckout(payment))
}

/** A checkout whose first attempt the payer cancelled. */
async function cancelledAttempt(): Promise<PaymentRow> {
  const payment = await rig.checkout()
  await start(payment)
  await cancelAsPayer(payment)
  const attempt = await rig.attempt(payment.id)
  assert.deepEqual([attempt.status, attempt.dueAt], ['declined', null])
  return payment
}

/** Polls once for each scripted outcome. */
async function pollLater(...outcomes: (Outcome | ReturnType<typeof paid>)[]): Promise<void> {
  for (const outcome of outcomes) {
    gateway.answers('verify', outcome)
    assert.equal(await rig.resolve(), 1, 'the resolver polls')
    clock.advance(LATER_MS)
  }
}

describe('a webhook about an attempt that was final', () => {
  it('a webhook about a final attempt is polled until the gateway answers, and a late payment is accepted (F-35)', async () => {
    const payment = await cancelledAttempt()
    await rig.deliverWebhook(await rig.attempt(payment.id))
    await pollLater(NO_ANSWER, NO_ANSWER, paid())
    assert.equal((await rig.payment(payment.id)).status, 'successful')
    assert.equal((await rig.attempt(payment.id)).status, 'succeeded')
    assert.equal(await rig.credits(payment.id), 1)
    assert.deepEqual(await pathOf(db, payment.id), ['pending', 'processing', 'pending', 'successful'])
  })

  it('polling after a webhook ends when the gateway confirms the decline', async () => {
    const payment = await cancelledAttempt()
    await rig.deliverWebhook(await rig.attempt(payment.id))
    await pollLater(NO_ANSWER, CANCELLED)
    assert.equal(await rig.resolve(), 0)
    assert.equal((await rig.attempt(payment.id)).dueAt, null)
    assert.equal((await rig.payment(payment.id)).status, 'pending')
  })

  it('a webhook completes a charge that needs manual review, as soon as the gateway answers (F-30, F-35)', async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    const { id } = await rig.charge()
    clock.advance(24 * HOUR_MS)
    await pollLater(NOT_FOUND)
    assert.equal((await rig.attempt(id)).status, 'requires_review')

    await rig.deliverWebhook(await rig.attempt(id))
    await pollLater(NO_ANSWER, paid())
    assert.equal((await rig.payment(id)).status, 'successful')
    assert.equal(await rig.credits(id), 1)
  })

  it('a webhook about another amount does not change the payment while a newer attempt is open (F-34)', async () => {
    const payment = await cancelledAttempt()
    await start(payment)
    const before = await rig.payment(payment.id)
    assert.equal(before.statusReason, 'awaiting_customer')
    await rig.deliverWebhook(await rig.attempt(payment.id, 1))
    gateway.answers('verify', paid({ paid: money(1n, 'KES') }))
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.attempt(payment.id, 1)).status, 'amount_mismatch')
    assert.deepEqual(await rig.payment(payment.id), { ...before, amountReceivedMinor: 1n })

    clock.advance(60_000)
    await pollLater(paid())
    assert.equal((await rig.payment(payment.id)).status, 'successful')
    assert.equal((await rig.attempt(payment.id, 2)).status, 'succeeded')
    assert.equal(await rig.credits(payment.id), 1)
  })
})

describe('a webhook that arrives during a status check', () => {
  const notifyDuringPoll = async (payment: PaymentRow, outcome: Outcome) => {
    const attempt = await rig.attempt(payment.id)
    gateway.answers('verify', async () => {
      await rig.deliverWebhook(attempt)
      return outcome
    })
    assert.equal(await rig.resolve(), 1)
  }
  const assertFoundPaid = async (payment: PaymentRow) => {
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1, 'the resolver polls again at once')
    assert.equal((await rig.payment(payment.id)).status, 'successful')
    assert.equal(await rig.credits(payment.id), 1)
  }

  for (const [what, outcome] of Object.entries({
    'no answer': NO_ANSWER,
    'an earlier status': PENDING,
  })) {
    it(`a webhook during a status check is not lost to ${what}`, async () => {
      const payment = await rig.checkout()
      await start(payment)
      clock.advance(60_000)
      await notifyDuringPoll(payment, outcome)
      await assertFoundPaid(payment)
    })
  }

  it('a webhook during a status check is not lost to an earlier decline', async () => {
    const payment = await rig.checkout()
    await start(payment)
    clock.advance(60_000)
    await notifyDuringPoll(payment, CANCELLED)
    assert.equal((await rig.attempt(payment.id)).status, 'declined')
    await assertFoundPaid(payment)
  })

  it('a webhook during a status check is not lost to a decline of a final attempt', async () => {
    const payment = await cancelledAttempt()
    await rig.deliverWebhook(await rig.attempt(payment.id))
    await notifyDuringPoll(payment, CANCELLED)
    await assertFoundPaid(payment)
  })

  it('a webhook during a status check is not lost to a decline of an attempt whose checkout is over', async () => {
    const payment = await rig.checkout()
    await start(payment)
    clock.advance(HOUR_MS)
    gateway.answers('verify', PENDING)
    await rig.expire()
    assert.equal((await rig.payment(payment.id)).status, 'expired')
    await notifyDuringPoll(payment, CANCELLED)
    await assertFoundPaid(payment)
  })

  it('a webhook during a status check is not lost to a charge that needs manual review', async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    const charge = await rig.charge()
    clock.advance(24 * HOUR_MS)
    await notifyDuringPoll(charge, NOT_FOUND)
    assert.equal((await rig.attempt(charge.id)).status, 'requires_review')
    await assertFoundPaid(charge)
  })
})

describe('the record of a webhook', () => {
  const countWebhooks = sql<{ hooks: number }>`
    select count(*)::integer as hooks from gateway_webhooks where event_id = $1`
  const webhooksOf = async (eventId: string) => (await db.query(countWebhooks, [eventId]))[0]?.hooks

  it('a webhook is not recorded when its transaction fails, so that the second delivery counts (F-41)', async () => {
    const payment = await cancelledAttempt()
    const { gatewayKey: key } = await rig.attempt(payment.id)
    const [route] = gatewayWebhookRoutes(app)
    assert.ok(route)
    const rawBody = Buffer.from(JSON.stringify({ key, eventId: 'evt-1' }))
    const deliver = () =>
      route.handle({ method: 'POST', query: {}, params: { gateway: NAME }, headers: {}, rawBody })

    await db.script(`
      create function reject_attempts() returns trigger language plpgsql as $$
      begin raise exception 'a test broke this'; end $$;
      create trigger broken before update on attempts for each row execute function reject_attempts()`)
    await assert.rejects(deliver(), /a test broke this/)
    await db.script('drop trigger broken on attempts; drop function reject_attempts')
    assert.equal(await webhooksOf('evt-1'), 0)

    assert.deepEqual(await deliver(), { http: 200 })
    assert.equal(await webhooksOf('evt-1'), 1)
    await pollLater(paid())
    assert.equal((await rig.payment(payment.id)).status, 'successful')
  })

  it('a repeated webhook wakes the attempt once', async () => {
    const payment = await cancelledAttempt()
    const { gatewayKey: key } = await rig.attempt(payment.id)
    const deliver = () =>
      saveGatewayWebhook(
        db,
        { gateway: NAME, accountId: null, eventId: 'evt-2', key, gatewayReference: null },
        clock.now(),
        clock.now(),
      )
    await deliver()
    await pollLater(CANCELLED)
    await deliver()
    assert.equal(await rig.resolve(), 0)
    assert.equal(await webhooksOf('evt-2'), 1)
  })
})

it('a renewed card is the same method with a later end', async () => {
  const payWith = async (savedMethod: typeof CARD) => {
    const payment = await rig.checkout('renewed@example.com')
    await start(payment)
    clock.advance(60_000)
    await pollLater(paid({ savedMethod }))
    const method = await methodOf(app, await rig.payment(payment.id))
    assert.ok(method)
    return serializeMethod(app, method)
  }
  const expiring = (expiryYear: number) => ({ ...CARD, card: CARD.card && { ...CARD.card, expiryYear } })
  const before = await payWith(expiring(2031))
  const renewed = await payWith(expiring(2036))
  assert.equal(before.expiresAt, '2032-01-01T00:00:00.000Z')
  assert.equal(renewed.expiresAt, '2037-01-01T00:00:00.000Z')
  assert.equal(renewed.card?.expiryYear, 2036)
  assert.deepEqual([renewed.uuid, renewed.recurringToken], [before.uuid, before.recurringToken])
})
