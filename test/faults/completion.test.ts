// Providers that move the money when we call, after the payer has confirmed. The completing call is made once: by the payer's
// return, by a poll or after a webhook, by one of several processes, and never again after an unknown outcome. (F-02, F-04,
// F-28, F-52)

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { cancelPayment } from '../../src/checkout/cancel.ts'
import { cancelAttempt, cancelCheckout, refreshCheckout } from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { revokeMethod } from '../../src/customers/methods.ts'
import { blockCustomer } from '../../src/customers/write.ts'
import type { Outcome } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import { activateMerchant, suspendMerchant } from '../../src/merchants/service.ts'
import { verifyAttempt } from '../../src/outcomes/status-check.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import {
  CANCELLED,
  NO_ANSWER,
  NOT_SENT,
  PENDING,
  paid,
  paymentsRig,
  type Scripted,
  STARTED,
} from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { app, clock, gateway } = rig

const HOUR_MS = 3_600_000
// Longer than any lease here.
const LEASE_MS = 60_000
// After this a completing call is over at the provider too.
const CALL_OVER_MS = 6 * 60_000

const READY: Outcome = { kind: 'pending', gatewayReference: 'gw-1', canComplete: true }
const NOT_UNDERSTOOD = { kind: 'unknown', reason: 'unrecognized', message: 'another form' } as const
const REFUSED: Outcome = { ...CANCELLED, code: 'provider_unavailable', refused: true } as Outcome

afterEach(() => rig.endTest())

const readCheckout = ({ reference }: PaymentRow, at: PaymentsApp = app) =>
  requireCheckoutPayment(at, rig.merchant, reference)

/** A checkout whose payer is on the page of the provider. */
async function started(): Promise<PaymentRow> {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', STARTED)
  await startAttempt(app, await readCheckout(payment), { channel: 'card' })
  return payment
}

async function comeBack(payment: PaymentRow, at: PaymentsApp = app): Promise<PaymentRow> {
  return (await refreshCheckout(at, await readCheckout(payment, at), 'return')).payment
}

async function resolveAfter(ms: number, ...answers: Scripted[]): Promise<void> {
  clock.advance(ms)
  gateway.answers('verify', ...answers)
  assert.equal(await rig.resolve(), answers.length)
}

async function statesOf({ id }: PaymentRow): Promise<string> {
  const { status, statusReason } = await rig.payment(id)
  return `${status} ${statusReason} ${(await rig.attempt(id)).status}`
}

async function countCompletions({ id }: PaymentRow): Promise<number> {
  const { gatewayKey } = await rig.attempt(id)
  return gateway.calls.filter((call) => call === `complete ${gatewayKey}`).length
}

const isMarked = async ({ id }: PaymentRow) => (await rig.attempt(id)).completionStartedAt !== null

const UNKNOWN = 'processing outcome_unknown awaiting_customer'
const AWAITING = 'processing awaiting_customer awaiting_customer'
const PAID = 'successful null succeeded'

describe('a payment that the payer has confirmed', () => {
  it('a confirmed payment is completed when the payer returns, and the mark is on disk before the call', async () => {
    const payment = await started()
    gateway.answers('verify', READY)
    gateway.answers('complete', async (asked) => {
      assert.equal(await isMarked(payment), true)
      return paid()(asked)
    })
    assert.equal((await comeBack(payment)).status, 'successful')
    assert.equal(await statesOf(payment), PAID)
    assert.equal(await rig.credits(payment.id), 1)
  })

  it('a confirmed payment is completed by a poll or a webhook, if the payer never returns', async () => {
    const polled = await started()
    gateway.answers('complete', paid())
    await resolveAfter(LEASE_MS, READY)
    assert.equal(await statesOf(polled), PAID)

    const reported = await started()
    await rig.deliverWebhook(await rig.attempt(reported.id))
    gateway.answers('complete', paid())
    await resolveAfter(0, READY)
    assert.equal(await statesOf(reported), PAID)
  })

  it('a payment that the payer has not confirmed is not completed', async () => {
    const payment = await started()
    await resolveAfter(LEASE_MS, PENDING)
    assert.equal(await countCompletions(payment), 0)
    assert.equal(await statesOf(payment), AWAITING)
  })

  it('a decline of the completing call ends the attempt', async () => {
    const payment = await started()
    gateway.answers('complete', { ...CANCELLED, code: 'insufficient_funds' } as Outcome)
    await resolveAfter(LEASE_MS, READY)
    assert.equal(await statesOf(payment), 'pending null declined')
  })

  it('two processes that see the same confirmation make one completing call', async () => {
    const other = rig.anotherApp()
    const payment = await started()
    const current = { payment: await rig.payment(payment.id), attempt: await rig.attempt(payment.id) }
    gateway.answers('verify', READY, READY, READY)
    gateway.answers('complete', paid())
    await Promise.all([app, other, other].map((one) => verifyAttempt(one, current, 'verify')))
    assert.equal(await countCompletions(payment), 1)
    assert.equal((await rig.payment(payment.id)).status, 'successful')
    assert.equal(await rig.credits(payment.id), 1)
  })
})

describe('the outcome of a completing call', () => {
  for (const [title, outcome] of Object.entries({ 'not sent': NOT_SENT, refused: REFUSED, waiting: READY })) {
    it(`a completing call that is ${title} has executed nothing, and is made again`, async () => {
      const payment = await started()
      gateway.answers('complete', outcome, paid())
      await resolveAfter(LEASE_MS, READY)
      assert.equal(await isMarked(payment), false)
      assert.equal(await statesOf(payment), AWAITING)
      await resolveAfter(LEASE_MS, READY)
      assert.equal(await statesOf(payment), PAID)
      assert.equal(await countCompletions(payment), 2)
    })
  }

  it('after an unknown outcome only status checks follow, until the provider reports the end', async () => {
    const payment = await started()
    gateway.answers('complete', NO_ANSWER)
    await resolveAfter(LEASE_MS, READY)
    assert.equal(await statesOf(payment), UNKNOWN)
    await resolveAfter(LEASE_MS, NO_ANSWER)
    await resolveAfter(LEASE_MS, PENDING)
    assert.equal(await statesOf(payment), UNKNOWN)
    await resolveAfter(LEASE_MS, paid())
    assert.equal(await statesOf(payment), PAID)
    assert.equal(await countCompletions(payment), 1)
  })

  it('a checkout does not expire while it is unknown whether the completing call moved the money', async () => {
    const payment = await started()
    gateway.answers('complete', NO_ANSWER)
    await resolveAfter(LEASE_MS, READY)
    clock.advance(HOUR_MS)
    gateway.answers('verify', PENDING)
    assert.equal(await rig.expire(), 1)
    assert.equal(await statesOf(payment), UNKNOWN)
  })

  it('a payment that the provider still waits for is not completed again, and expires', async () => {
    const payment = await started()
    gateway.answers('complete', NO_ANSWER)
    await resolveAfter(LEASE_MS, READY)
    await resolveAfter(CALL_OVER_MS, READY)
    assert.equal(await statesOf(payment), AWAITING)
    clock.advance(HOUR_MS)
    gateway.answers('verify', READY)
    assert.equal(await rig.expire(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'expired')
    assert.equal(await countCompletions(payment), 1)
    // The call had arrived late.
    await resolveAfter(HOUR_MS, paid())
    assert.equal((await rig.payment(payment.id)).status, 'successful')
  })
})

describe('a completing call that outlasts our timeout', () => {
  const leave = async (payment: PaymentRow) => {
    await assert.rejects(cancelPayment(app, rig.merchant, payment.id, undefined), { code: 'invalid_state' })
    await cancelAttempt(app, await readCheckout(payment))
    await cancelCheckout(app, await readCheckout(payment))
    await startAttempt(app, await readCheckout(payment), { channel: 'card' })
  }

  it('the payer cannot pay in another way while the provider executes the call, and is charged once', async () => {
    const payment = await started()
    gateway.answers('complete', NO_ANSWER)
    await resolveAfter(LEASE_MS, READY)
    // The provider executes the call for 20 seconds, and reports until then that it waits for one.
    await resolveAfter(13_000, READY)
    await leave(payment)
    assert.equal(await statesOf(payment), UNKNOWN)
    await resolveAfter(7_000, paid())
    assert.equal(await statesOf(payment), PAID)
    assert.equal(await rig.credits(payment.id), 1)
    assert.equal(await countCompletions(payment), 1)
  })

  it('the checkout does not expire while the provider executes the call', async () => {
    const payment = await started()
    clock.advance(HOUR_MS - 20_000)
    gateway.answers('complete', NO_ANSWER)
    await resolveAfter(0, READY)
    clock.advance(21_000)
    gateway.answers('verify', READY)
    assert.equal(await rig.expire(), 1)
    assert.equal(await statesOf(payment), UNKNOWN)
  })

  it('a connector declares how long a call runs at the provider', async (t) => {
    const { behavior } = gateway
    t.after(() => {
      gateway.behavior = behavior
    })
    gateway.behavior = { ...behavior, completesWithinMs: 120_000 }
    const payment = await started()
    gateway.answers('complete', NO_ANSWER)
    await resolveAfter(LEASE_MS, READY)
    await resolveAfter(120_000, READY)
    assert.equal(await statesOf(payment), UNKNOWN)
    // With the time that our own call may take.
    await resolveAfter(13_000, READY)
    assert.equal(await statesOf(payment), AWAITING)
  })
})

describe('a checkout that has ended', () => {
  it('an expired checkout is not completed', async () => {
    const payment = await started()
    clock.advance(HOUR_MS)
    gateway.answers('verify', READY)
    assert.equal(await rig.expire(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'expired')
    await resolveAfter(LEASE_MS, READY)
    assert.equal(await countCompletions(payment), 0)
  })

  it('a checkout that the merchant or the payer has cancelled is not completed', async () => {
    for (const leave of [
      (payment: PaymentRow) => cancelPayment(app, rig.merchant, payment.id, undefined),
      async (payment: PaymentRow) => cancelAttempt(app, await readCheckout(payment)),
      async (payment: PaymentRow) => cancelCheckout(app, await readCheckout(payment)),
    ]) {
      const payment = await started()
      gateway.answers('cancel', READY)
      await leave(payment)
      assert.notEqual((await rig.payment(payment.id)).status, 'processing')
      await resolveAfter(LEASE_MS, READY)
      assert.equal(await countCompletions(payment), 0)
      await rig.endTest()
    }
  })

  it('a checkout is not cancelled after its completing call was begun', async () => {
    const payment = await started()
    gateway.answers('complete', NO_ANSWER)
    await resolveAfter(LEASE_MS, READY)
    await assert.rejects(cancelPayment(app, rig.merchant, payment.id, undefined), { code: 'invalid_state' })
    await cancelAttempt(app, await readCheckout(payment))
    await cancelCheckout(app, await readCheckout(payment))
    assert.equal(await statesOf(payment), UNKNOWN)
  })

  it('a cancellation during which the completing call began does not win', async () => {
    const cancelByMerchant = (payment: PaymentRow) =>
      assert.rejects(cancelPayment(app, rig.merchant, payment.id, undefined), { code: 'invalid_state' })
    const cancelByPayer = async (payment: PaymentRow) => cancelAttempt(app, await readCheckout(payment))
    for (const cancel of [cancelByMerchant, cancelByPayer]) {
      const payment = await started()
      gateway.answers('verify', READY)
      gateway.answers('complete', NO_ANSWER)
      // The payer returns in another window before the provider answers the cancellation.
      gateway.answers('cancel', async () => {
        await comeBack(payment)
        return PENDING
      })
      await cancel(payment)
      assert.equal(await statesOf(payment), UNKNOWN)
      assert.equal(await countCompletions(payment), 1)
    }
  })
})

const selectReference = sql<{ reference: string }>`
select gateway_reference as reference
from attempts
where gateway_key = $1`

describe('a charge in two steps', () => {
  it('a charge is created and completed with its credential, and its reference is stored in between', async () => {
    gateway.answers('chargeSaved', READY)
    gateway.answers('complete', async (asked) => {
      assert.deepEqual(await rig.db.query(selectReference, [asked.key]), [{ reference: 'gw-1' }])
      return paid()(asked)
    })
    const charge = await rig.charge()
    assert.equal(await statesOf(charge), PAID)
  })

  it('a charge whose completing call is not sent does not fail, and is completed later', async () => {
    gateway.answers('chargeSaved', READY)
    gateway.answers('complete', NOT_SENT, paid())
    const charge = await rig.charge()
    assert.equal(await statesOf(charge), 'processing outcome_unknown started')
    await resolveAfter(LEASE_MS, READY)
    assert.equal(await statesOf(charge), PAID)
  })

  it('a charge that is not completed because the provider is not understood has a case, and is completed later', async () => {
    gateway.answers('chargeSaved', READY)
    gateway.answers('complete', { ...NOT_UNDERSTOOD, unsent: true }, paid())
    const charge = await rig.charge()
    assert.equal(await statesOf(charge), 'processing needs_review started')
    assert.equal(await isMarked(charge), false)
    await resolveAfter(HOUR_MS, READY)
    assert.equal(await statesOf(charge), PAID)
    assert.equal(await countCompletions(charge), 2)

    gateway.answers('chargeSaved', READY)
    gateway.answers('complete', NOT_UNDERSTOOD)
    const sent = await rig.charge()
    assert.equal(await isMarked(sent), true)
    await resolveAfter(HOUR_MS, READY)
    assert.equal(await countCompletions(sent), 1)
  })

  const ENDS: Record<string, (charge: PaymentRow) => Promise<unknown>> = {
    'whose method was revoked': ({ customerId, paymentMethodId }) =>
      revokeMethod(app, rig.merchant, customerId, paymentMethodId ?? ''),
    'whose customer was blocked': ({ customerId }) => blockCustomer(app, rig.merchant, customerId, undefined),
    'of a suspended merchant': () => suspendMerchant(app, rig.merchant.id),
  }
  for (const [title, end] of Object.entries(ENDS)) {
    it(`a charge ${title} is not completed`, async () => {
      gateway.answers('chargeSaved', NO_ANSWER)
      const charge = await rig.charge()
      await end(await rig.payment(charge.id))
      await resolveAfter(LEASE_MS, READY)
      await activateMerchant(app, rig.merchant.id)
      assert.equal(await countCompletions(charge), 0)
      assert.equal(await statesOf(charge), 'processing outcome_unknown started')
    })
  }
})

describe('a process that fails at the completing call', () => {
  const withFailpoint = (point: Failpoint, act: () => Promise<void>): PaymentsApp => ({
    ...rig.anotherApp(),
    failpoints: { hit: async (name) => (name === point ? act() : undefined) },
  })
  const die = async () => {
    throw new Error('the process dies')
  }

  it('a process that dies before the completing call leaves it unmade, and the payment to the provider (F-02)', async () => {
    const payment = await started()
    gateway.answers('verify', READY)
    await comeBack(payment, withFailpoint('completion.after_mark', die))
    assert.equal(await statesOf(payment), UNKNOWN)
    await resolveAfter(LEASE_MS, READY)
    await resolveAfter(LEASE_MS, CANCELLED)
    assert.equal(await statesOf(payment), 'pending null declined')
    assert.equal(await countCompletions(payment), 0)
  })

  it('a process that dies after the completing call has made the only one, and a poll finds the money (F-04)', async () => {
    const payment = await started()
    gateway.answers('verify', READY)
    gateway.answers('complete', paid())
    await comeBack(payment, withFailpoint('completion.after_call', die))
    assert.equal(await statesOf(payment), UNKNOWN)
    await resolveAfter(LEASE_MS, paid())
    assert.equal(await statesOf(payment), PAID)
    assert.equal(await countCompletions(payment), 1)
    assert.equal(await rig.credits(payment.id), 1)
  })

  for (const point of ['completion.after_mark', 'completion.after_call'] as const) {
    it(`a process that resumes at ${point} after another has polled makes no second call (F-52)`, async () => {
      const payment = await started()
      gateway.answers('complete', paid())
      gateway.answers('verify', READY)
      const hang = () => resolveAfter(LEASE_MS, point === 'completion.after_mark' ? READY : paid())
      await comeBack(payment, withFailpoint(point, hang))
      assert.equal(await statesOf(payment), PAID)
      assert.equal(await countCompletions(payment), 1)
      assert.equal(await rig.credits(payment.id), 1)
    })
  }
})
