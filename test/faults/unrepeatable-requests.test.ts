// F-28 at providers whose requests cannot be sent again, and at those whose lost page cannot be paid.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it, type TestContext } from 'node:test'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { FLUTTERWAVE } from '../../src/gateways/flutterwave/index.ts'
import type { CheckoutChoice, GatewayBehavior, Outcome } from '../../src/gateways/gateway.ts'
import { PAYSTACK } from '../../src/gateways/paystack/index.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import {
  NO_ANSWER,
  NOT_FOUND,
  PENDING,
  paid,
  paymentsRig,
  type Scripted,
  STARTED,
  scriptedGateway,
} from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { app, clock, gateway } = rig

const HOUR_MS = 3_600_000
// Longer than any lease here.
const LEASE_MS = 60_000

afterEach(() => rig.endTest())

function behaveAs(t: TestContext, behavior: GatewayBehavior): void {
  const { behavior: original } = gateway
  gateway.behavior = behavior
  t.after(() => {
    gateway.behavior = original
  })
}

const readCheckout = ({ reference }: PaymentRow) => requireCheckoutPayment(app, rig.merchant, reference)

async function start(payment: PaymentRow, answer: Scripted, choice: CheckoutChoice = { channel: 'card' }) {
  gateway.answers('startCheckout', answer)
  return startAttempt(app, await readCheckout(payment), choice)
}

/** A checkout whose start was answered like this. */
async function started(answer: Scripted, choice?: CheckoutChoice): Promise<PaymentRow> {
  const payment = await rig.checkout()
  await start(payment, answer, choice)
  return payment
}

async function statesOf({ id }: PaymentRow, number = 1): Promise<string> {
  const { status, statusReason } = await rig.payment(id)
  return `${status} ${statusReason} ${(await rig.attempt(id, number)).status}`
}

async function resolveAfter(ms: number, ...answers: Scripted[]): Promise<void> {
  clock.advance(ms)
  gateway.answers('verify', ...answers)
  assert.equal(await rig.resolve(), answers.length)
}

const callsAbout = async ({ id }: PaymentRow) => {
  const { gatewayKey } = await rig.attempt(id)
  return gateway.calls.filter((call) => call.endsWith(gatewayKey)).map((call) => call.split(' ')[0])
}

describe('a request that cannot be sent again', () => {
  const behavior: GatewayBehavior = {
    ...{ keyRetentionHours: 0, cachesErrors: false, lookupByReference: false },
    notResendable: { absentAfterHours: 6 },
  }

  it('a charge that cannot be sent again is only looked for, and fails as not sent when it is proven absent', async (t) => {
    behaveAs(t, behavior)
    gateway.answers('chargeSaved', NO_ANSWER)
    const charge = await rig.charge()
    await resolveAfter(LEASE_MS, NOT_FOUND)
    await resolveAfter(5 * HOUR_MS, NOT_FOUND)
    assert.equal(await statesOf(charge), 'processing outcome_unknown started')
    await resolveAfter(HOUR_MS, NOT_FOUND)
    assert.equal(await statesOf(charge), 'failed null declined')
    assert.equal((await rig.payment(charge.id)).failureCode, 'provider_unavailable')
    assert.deepEqual(await callsAbout(charge), ['chargeSaved', 'verify', 'verify', 'verify'])
  })

  it('a charge that cannot be sent again is never absent where nothing proves it', async (t) => {
    behaveAs(t, { ...behavior, notResendable: { absentAfterHours: null } })
    gateway.answers('chargeSaved', NO_ANSWER)
    const charge = await rig.charge()
    await resolveAfter(7 * HOUR_MS, NOT_FOUND)
    assert.equal(await statesOf(charge), 'processing outcome_unknown started')
    assert.deepEqual(await callsAbout(charge), ['chargeSaved', 'verify'])
  })

  it('a charge that cannot be sent again succeeds if it is found, also at the last moment', async (t) => {
    behaveAs(t, behavior)
    gateway.answers('chargeSaved', NO_ANSWER)
    const charge = await rig.charge()
    await resolveAfter(LEASE_MS, NOT_FOUND)
    await resolveAfter(7 * HOUR_MS, paid())
    assert.equal(await statesOf(charge), 'successful null succeeded')
    assert.equal(await rig.credits(charge.id), 1)
  })

  it('a charge that the gateway had accepted is not absent, but needs manual review', async (t) => {
    behaveAs(t, behavior)
    gateway.answers('chargeSaved', { kind: 'pending', gatewayReference: 'gw-7' })
    const charge = await rig.charge()
    await resolveAfter(7 * HOUR_MS, NOT_FOUND)
    assert.equal(await statesOf(charge), 'processing requires_review requires_review')
  })

  it('a charge without an answer is not absent, however old it is', async (t) => {
    behaveAs(t, behavior)
    gateway.answers('chargeSaved', NO_ANSWER)
    const charge = await rig.charge()
    await resolveAfter(7 * HOUR_MS, NO_ANSWER)
    assert.equal(await statesOf(charge), 'processing outcome_unknown started')
  })

  it('a prompt that cannot be sent again does not expire while it may be open, and is payable again when it is absent', async (t) => {
    behaveAs(t, behavior)
    const payment = await started(NO_ANSWER, { channel: 'mobile_money', phone: '+254712345678' })
    await resolveAfter(LEASE_MS, NOT_FOUND)
    clock.advance(HOUR_MS)
    gateway.answers('verify', NOT_FOUND)
    assert.equal(await rig.expire(), 1)
    assert.equal(await statesOf(payment), 'processing outcome_unknown started')
    await resolveAfter(6 * HOUR_MS, NOT_FOUND)
    assert.equal(await statesOf(payment), 'pending null declined')
    assert.deepEqual(
      (await callsAbout(payment)).filter((verb) => verb === 'startCheckout'),
      ['startCheckout'],
    )
  })

  it('a prompt whose response was lost is awaited, and not sent again', async (t) => {
    behaveAs(t, behavior)
    const payment = await started(NO_ANSWER, { channel: 'mobile_money', phone: '+254712345678' })
    await resolveAfter(LEASE_MS, PENDING)
    assert.equal(await statesOf(payment), 'processing awaiting_customer awaiting_customer')
    assert.deepEqual(await callsAbout(payment), ['startCheckout', 'verify'])
  })
})

describe('a page whose URL was lost', () => {
  /** The lost page is reported like this, the other one as paid. */
  const answersAbout =
    (lost: string, outcome: Outcome): Scripted =>
    (asked) =>
      asked.key === lost ? outcome : paid()(asked)

  for (const { name, behavior } of [PAYSTACK, FLUTTERWAVE]) {
    it(`a lost page of ${name} can be replaced at once, and is polled on until it would have expired`, async (t) => {
      behaveAs(t, behavior)
      const payment = await started(NO_ANSWER)
      assert.equal(await statesOf(payment), 'pending null declined')
      await start(payment, STARTED)
      assert.equal(await statesOf(payment, 2), 'processing awaiting_customer awaiting_customer')
      const { gatewayKey: lost } = await rig.attempt(payment.id, 1)
      assert.notEqual((await rig.attempt(payment.id, 2)).gatewayKey, lost)
      await resolveAfter(2 * LEASE_MS, answersAbout(lost, NOT_FOUND), answersAbout(lost, NOT_FOUND))
      assert.equal(await statesOf(payment, 2), 'successful null succeeded')
      await resolveAfter(6 * LEASE_MS, NOT_FOUND)
      await resolveAfter(3 * HOUR_MS, PENDING)
      clock.advance(24 * HOUR_MS)
      assert.equal(await rig.resolve(), 0)
      assert.equal(gateway.calls.filter((call) => call === `verify ${lost}`).length, 3)
    })
  }

  it('a lost page that was paid after all is a duplicate payment, and the first credit stays the only one', async (t) => {
    behaveAs(t, PAYSTACK.behavior)
    const payment = await started(NO_ANSWER)
    await start(payment, STARTED)
    const { gatewayKey: lost } = await rig.attempt(payment.id, 1)
    await resolveAfter(2 * LEASE_MS, answersAbout(lost, PENDING), answersAbout(lost, PENDING))
    await resolveAfter(6 * LEASE_MS, paid())
    assert.equal((await rig.attempt(payment.id, 1)).status, 'duplicate_success')
    assert.equal(await rig.credits(payment.id), 1)
  })

  it('a lost page that was paid counts if the payer has not paid another way', async (t) => {
    behaveAs(t, PAYSTACK.behavior)
    const payment = await started(NO_ANSWER)
    await resolveAfter(2 * LEASE_MS, paid())
    assert.equal(await statesOf(payment), 'successful null succeeded')
  })

  it('a lost page fails over to the next gateway', async (t) => {
    behaveAs(t, PAYSTACK.behavior)
    const next = scriptedGateway('next')
    const { gateways } = app
    app.gateways = fixedGateways([gateway, next])
    t.after(() => {
      app.gateways = gateways
    })
    next.answers('startCheckout', STARTED)
    const payment = await started(NO_ANSWER)
    const { attemptsUsed, failovers, gateway: name } = await rig.payment(payment.id)
    assert.deepEqual([attemptsUsed, failovers, name], [2, 1, 'next'])
  })

  it('a page that was lost with its process is replaced by the resolver, or declined', async (t) => {
    behaveAs(t, PAYSTACK.behavior)
    const die = () => {
      throw new Error('the process dies')
    }
    const payment = await rig.checkout()
    await assert.rejects(start(payment, die))
    assert.equal(await statesOf(payment), 'processing outcome_unknown started')
    gateway.answers('startCheckout', STARTED)
    await resolveAfter(LEASE_MS, NOT_FOUND)
    assert.equal(await statesOf(payment), 'processing awaiting_customer awaiting_customer')

    const other = await rig.checkout()
    await assert.rejects(start(other, die))
    await rig.endTest()
    await rig.deliverWebhook(await rig.attempt(other.id))
    // The provider has the page, and does not return its URL again.
    gateway.answers('startCheckout', PENDING)
    await resolveAfter(LEASE_MS, PENDING)
    assert.equal(await statesOf(other), 'pending null declined')
  })

  it('a prompt on the phone whose response was lost stays unknown: the payer may confirm it', async (t) => {
    behaveAs(t, PAYSTACK.behavior)
    const payment = await started(NO_ANSWER, { channel: 'mobile_money', phone: '+254712345678' })
    assert.equal(await statesOf(payment), 'processing outcome_unknown started')
  })
})
