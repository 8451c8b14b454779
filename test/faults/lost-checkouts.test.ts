// F-02, F-28 and F-35 in checkouts: the response to a start, a cancellation or a success is lost. The payer sees that
// the outcome is unknown, and nothing is abandoned or expired while they may have paid.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it, type TestContext } from 'node:test'
import { cancelPayment } from '../../src/checkout/cancel.ts'
import { cancelAttempt, cancelCheckout } from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { activateMerchant, requireMerchant, suspendMerchant } from '../../src/merchants/service.ts'
import { pageRoutes } from '../../src/pages/routes.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import { keepCheckoutOpen } from '../../src/payments/update-attempt.ts'
import { openAccessCode } from '../../src/payments/views.ts'
import { pathOf } from '../support/payment-records.ts'
import {
  CANCELLED,
  NO_ANSWER,
  NOT_FOUND,
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

afterEach(() => rig.endTest())

const readCheckout = (payment: PaymentRow) => requireCheckoutPayment(app, rig.merchant, payment.reference)

async function started(
  answer: typeof STARTED | typeof NO_ANSWER = STARTED,
  channel: 'card' | 'mobile_money' = 'card',
) {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', answer)
  await startAttempt(app, await readCheckout(payment), { channel, phone: '+254712345678' })
  return payment
}

async function statusOf({ id }: PaymentRow): Promise<string> {
  const { status, statusReason } = await rig.payment(id)
  return `${status} ${statusReason} ${(await rig.attempt(id)).status}`
}

/** The payer's address of this checkout, as the server answers it. */
async function requestPage(payment: PaymentRow, method: 'GET' | 'POST', verb = '') {
  const pages = pageRoutes({ ...app, requireMerchant: (id) => requireMerchant(app, id) })
  const route = pages.find((one) => one.method === method && one.path === `/pay/{accessCode}${verb}`)
  assert.ok(route)
  const accessCode = openAccessCode(app, payment) ?? ''
  const rest = {
    query: {},
    form: {},
    files: {},
    headers: {},
    cookies: {},
    requestId: 'r',
    path: '',
    address: '',
    visitor: 'v',
    styleNonce: 'n',
  }
  const answer = await route.handle({ params: { accessCode }, ...rest })
  return { accessCode, answer }
}

describe('a decline on a page where the payer can retry', () => {
  const watched = {
    keyRetentionHours: 24,
    cachesErrors: false,
    lookupByReference: true,
    paysAfterDecline: true,
  } as const

  async function startedOnPage(t: TestContext) {
    const { behavior } = gateway
    gateway.behavior = watched
    t.after(() => {
      gateway.behavior = behavior
    })
    return started()
  }

  it('a declined page is polled, so that a later payment on it counts without a webhook', async (t) => {
    const payment = await startedOnPage(t)
    gateway.answers('verify', CANCELLED)
    clock.advance(LEASE_MS)
    await rig.resolve()
    assert.equal((await rig.payment(payment.id)).status, 'pending')
    gateway.answers('verify', CANCELLED, paid())
    clock.advance(6 * LEASE_MS)
    await rig.resolve()
    clock.advance(6 * LEASE_MS)
    await rig.resolve()
    assert.equal((await rig.payment(payment.id)).status, 'successful')
    assert.equal(await rig.credits(payment.id), 1)
  })

  it('a declined page is polled after another method was paid, so that a duplicate payment is found though old reports came first (F-35)', async (t) => {
    const payment = await startedOnPage(t)
    gateway.answers('verify', CANCELLED)
    clock.advance(LEASE_MS)
    await rig.resolve()
    gateway.answers('startCheckout', STARTED)
    await startAttempt(app, await readCheckout(payment), { channel: 'card' })
    gateway.answers('verify', paid())
    clock.advance(5_000)
    await rig.resolve()
    assert.equal((await rig.payment(payment.id)).status, 'successful')

    await rig.deliverWebhook(await rig.attempt(payment.id, 1))
    gateway.answers('verify', CANCELLED)
    await rig.resolve()
    assert.equal((await rig.attempt(payment.id, 1)).status, 'declined')
    gateway.answers('verify', paid())
    clock.advance(6 * LEASE_MS)
    await rig.resolve()
    assert.equal((await rig.attempt(payment.id, 1)).status, 'duplicate_success')
    assert.equal(await rig.credits(payment.id), 1)
  })

  it('a declined page is polled before its checkout expires', async (t) => {
    const payment = await startedOnPage(t)
    gateway.answers('verify', CANCELLED, paid())
    clock.advance(LEASE_MS)
    await rig.resolve()
    clock.advance(2 * HOUR_MS)
    await rig.expire()
    assert.equal((await rig.payment(payment.id)).status, 'successful')
  })
})

describe('a suspended merchant', () => {
  it('a lost start of a checkout of a suspended merchant is not submitted again', async () => {
    const payment = await started(NO_ANSWER)
    await suspendMerchant(app, rig.merchant.id)
    const before = gateway.calls.length
    clock.advance(LEASE_MS)
    gateway.answers('verify', PENDING)
    gateway.answers('startCheckout', STARTED)
    await rig.resolve()
    await activateMerchant(app, rig.merchant.id)
    assert.deepEqual(
      gateway.calls.slice(before).map((call) => call.split(' ')[0]),
      ['verify'],
    )
    assert.equal((await rig.attempt(payment.id)).status, 'awaiting_customer')
  })
})

describe('leaving a page that the gateway cannot cancel', () => {
  it('leaving a page that cannot be cancelled reopens the checkout; the first success counts and the second is a duplicate', async () => {
    const payment = await started()
    gateway.answers('cancel', PENDING)
    await cancelAttempt(app, await readCheckout(payment))
    assert.equal((await rig.payment(payment.id)).status, 'pending')
    gateway.answers('startCheckout', STARTED)
    await startAttempt(app, await readCheckout(payment), { channel: 'card' })

    clock.advance(LEASE_MS)
    gateway.answers('verify', paid(), paid())
    await rig.resolve()
    assert.equal((await rig.payment(payment.id)).status, 'successful')
    const ends = [await rig.attempt(payment.id, 1), await rig.attempt(payment.id, 2)].map(
      ({ status }) => status,
    )
    assert.deepEqual(ends.toSorted(), ['duplicate_success', 'succeeded'])
    assert.equal(await rig.credits(payment.id), 1)
  })

  it('leaving a page does nothing while the outcome is unknown', async () => {
    const payment = await started()
    gateway.answers('cancel', NO_ANSWER)
    await cancelAttempt(app, await readCheckout(payment))
    assert.equal((await rig.payment(payment.id)).status, 'processing')
  })
})

describe('cancelling while the gateway does not respond', () => {
  it('a cancellation without a response leaves the payment at its gateway, and the payer on the waiting screen', async () => {
    const payment = await started()
    gateway.answers('cancel', NO_ANSWER)
    const { accessCode, answer } = await requestPage(payment, 'POST', '/cancel')
    assert.deepEqual(answer, { http: 303, redirectTo: `/pay/${accessCode}` })
    assert.equal(await statusOf(payment), 'processing awaiting_customer awaiting_customer')
    const page = (await requestPage(payment, 'GET')).answer
    assert.match(('html' in page && page.html?.toString()) || '', /data-status=/)
    assert.deepEqual(await pathOf(rig.db, payment.id), ['pending', 'processing'])

    // The payer had paid.
    clock.advance(LEASE_MS)
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'successful')
  })

  it('a cancellation changes nothing while it is unknown whether the attempt started', async () => {
    for (const answer of [NO_ANSWER, NOT_FOUND, PENDING]) {
      const payment = await started(NO_ANSWER)
      gateway.answers('cancel', answer)
      await cancelCheckout(app, await readCheckout(payment))
      assert.equal(await statusOf(payment), 'processing outcome_unknown started')
    }
  })

  it('a cancellation leaves the payment payable when the gateway confirms it, and a late payment is accepted', async () => {
    const payment = await started()
    gateway.answers('cancel', CANCELLED)
    await cancelCheckout(app, await readCheckout(payment))
    const { status, statusReason } = await rig.payment(payment.id)
    assert.deepEqual([status, statusReason], ['pending', 'customer_cancelled'])

    const late = await started()
    gateway.answers('cancel', paid())
    await cancelCheckout(app, await readCheckout(late))
    assert.equal((await rig.payment(late.id)).status, 'successful')
  })

  it('the merchant cancels nothing while it is unknown whether the payer has paid', async () => {
    for (const answer of [NO_ANSWER, NOT_FOUND, PENDING]) {
      const payment = await started(NO_ANSWER)
      gateway.answers('cancel', answer)
      await assert.rejects(cancelPayment(app, rig.merchant, payment.id, undefined), { code: 'invalid_state' })
      assert.equal(await statusOf(payment), 'processing outcome_unknown started')
    }
  })

  it('a payment that the merchant cancels at an open page of the gateway succeeds when the payer pays there', async () => {
    const payment = await started()
    gateway.answers('cancel', PENDING)
    const { record } = await cancelPayment(app, rig.merchant, payment.id, undefined)
    assert.deepEqual([record.status, record.statusReason], ['abandoned', 'merchant_cancelled'])
    assert.equal((await cancelPayment(app, rig.merchant, payment.id, undefined)).replayed, true)
    gateway.answers('verify', paid())
    clock.advance(LEASE_MS)
    await rig.resolve()
    assert.equal((await rig.payment(payment.id)).status, 'successful')
  })
})

describe('leaving while the payer reports the money as sent', () => {
  /** Runs after the gateway has responded and before the payer's transition is written. */
  async function answeredMeanwhile(payment: PaymentRow) {
    const { gatewayKey } = await rig.attempt(payment.id)
    const at = clock.now()
    const until = new Date(at.getTime() + 24 * HOUR_MS)
    const hold = { merchantId: payment.merchantId, paymentId: payment.id, gatewayKey, at }
    await rig.db.transaction((tx) =>
      keepCheckoutOpen(tx, { ...hold, reason: 'marked_paid', until, untilAtLink: until }),
    )
    return PENDING
  }

  for (const [name, leave] of Object.entries({ cancelAttempt, cancelCheckout })) {
    it(`a payer cannot leave while money is reported as sent: ${name} (F-28)`, async () => {
      const payment = await started()
      gateway.answers('cancel', () => answeredMeanwhile(payment))
      const { payment: left } = await leave(app, await readCheckout(payment))
      assert.deepEqual([left.status, left.statusReason], ['processing', 'marked_paid'])
      assert.deepEqual(await pathOf(rig.db, payment.id), ['pending', 'processing'])
    })
  }
})

describe('a checkout whose start was executed and whose response was lost', () => {
  it('a lost start gets its next step by the same key, and expires on time (F-28)', async () => {
    const payment = await started(NO_ANSWER)
    assert.equal(await statusOf(payment), 'processing outcome_unknown started')
    clock.advance(LEASE_MS)
    gateway.answers('verify', PENDING)
    gateway.answers('startCheckout', STARTED)
    assert.equal(await rig.resolve(), 1)
    assert.equal(await statusOf(payment), 'processing awaiting_customer awaiting_customer')
    const { nextStep, gatewayReference, gatewayKey } = await rig.attempt(payment.id)
    assert.deepEqual(nextStep, STARTED.next)
    assert.equal(gatewayReference, STARTED.gatewayReference)
    const submissions = gateway.calls.filter((call) => call === `startCheckout ${gatewayKey}`)
    assert.equal(submissions.length, 2, 'under the same key')

    clock.advance(HOUR_MS)
    gateway.answers('verify', PENDING)
    assert.equal(await rig.expire(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'expired')
  })

  it('a lost start prompts no phone when its checkout is over, and still ends (F-28)', async () => {
    const payment = await started(NO_ANSWER, 'mobile_money')
    clock.advance(HOUR_MS)
    gateway.answers('verify', PENDING)
    assert.equal(await rig.resolve(), 1)
    const { gatewayKey } = await rig.attempt(payment.id)
    assert.equal(gateway.calls.filter((call) => call === `startCheckout ${gatewayKey}`).length, 1)
    assert.equal(await statusOf(payment), 'processing awaiting_customer awaiting_customer')
    gateway.answers('verify', PENDING)
    assert.equal(await rig.expire(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'expired')
  })

  it('a checkout does not expire while the outcome of an earlier attempt is unknown (F-35)', async () => {
    const payment = await started()
    gateway.answers('cancel', PENDING)
    await cancelAttempt(app, await readCheckout(payment))
    gateway.answers('startCheckout', STARTED)
    await startAttempt(app, await readCheckout(payment), { channel: 'card' })
    const left = await rig.attempt(payment.id, 1)
    const answerAbout = (first: typeof NO_ANSWER | ReturnType<typeof paid>): Scripted => {
      return (asked) =>
        asked.key !== left.gatewayKey ? PENDING : typeof first === 'function' ? first(asked) : first
    }

    clock.advance(HOUR_MS)
    gateway.answers('verify', answerAbout(NO_ANSWER), answerAbout(NO_ANSWER))
    assert.equal(await rig.expire(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'processing')

    clock.advance(LEASE_MS)
    gateway.answers('verify', answerAbout(paid()), answerAbout(paid()))
    assert.equal(await rig.expire(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'successful')
    assert.equal(await rig.credits(payment.id), 1)
  })

  it('a checkout does not expire while it is unknown whether it was paid', async () => {
    const payment = await started(NO_ANSWER)
    clock.advance(HOUR_MS)
    gateway.answers('verify', NO_ANSWER)
    assert.equal(await rig.expire(), 1)
    assert.equal(await statusOf(payment), 'processing outcome_unknown started')
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'successful')
  })
})
