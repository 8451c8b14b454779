// Failover to another gateway is allowed only when the first one provably did not execute: otherwise the payer could
// pay twice.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { findOffer, requireOffered } from '../../src/checkout/offer.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { ApiError } from '../../src/core/errors.ts'
import type { CheckoutChoice, Gateway, Outcome } from '../../src/gateways/gateway.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import { MAX_ATTEMPTS } from '../../src/outcomes/decide.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import { listAttempts } from '../../src/payments/find.ts'
import type { PaymentRow } from '../../src/payments/payment.ts'
import {
  NO_ANSWER,
  NOT_SENT,
  PENDING,
  paymentsRig,
  type Scripted,
  STARTED,
  scriptedGateway,
} from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const first = rig.gateway
const second = scriptedGateway('second')
const third = {
  ...scriptedGateway('third'),
  rails: [{ currency: 'KES', channels: ['bank_transfer'] }],
} as const
const app: PaymentsApp = { ...rig.app, gateways: fixedGateways([first, third, second]) }

afterEach(async () => {
  await rig.endTest()
  second.clearAnswers()
  second.calls.length = 0
})

const DECLINED: Outcome = { kind: 'declined', code: 'do_not_honor', message: 'no', gatewayReference: null }
const REFUSED: Outcome = { ...DECLINED, code: 'provider_unavailable', message: 'wrong key', refused: true }

async function press(payment: PaymentRow) {
  const view = await requireCheckoutPayment(app, rig.merchant, payment.reference)
  return startAttempt(app, view, { channel: 'card' })
}

const attemptsOf = async ({ id }: PaymentRow) =>
  (await listAttempts(rig.db, rig.merchant.id, id)).map(({ gateway, status }) => `${gateway} ${status}`)

describe('a gateway that provably did not execute', () => {
  const notSubmitted = { 'was not reached': NOT_SENT, 'refused the request': REFUSED }
  for (const [reason, outcome] of Object.entries(notSubmitted)) {
    it(`the next gateway with the same payment method takes over when the first one ${reason}`, async () => {
      const payment = await rig.checkout()
      first.answers('startCheckout', outcome)
      second.answers('startCheckout', STARTED)
      const { payment: seen, attempt } = await press(payment)
      assert.deepEqual([seen.status, seen.gateway], ['processing', 'second'])
      assert.deepEqual([attempt?.gateway, attempt?.nextStep], ['second', STARTED.next])
      assert.deepEqual(await attemptsOf(payment), ['scripted declined', 'second awaiting_customer'])
      // Each gateway gets its own key, so that neither attempt can be mistaken for the other.
      assert.equal(
        new Set([...first.calls.slice(-1), ...second.calls].map((call) => call.split(' ')[1])).size,
        2,
      )
      assert.deepEqual(third.calls, [])
    })
  }

  it('failover uses up one attempt of the payer, together with the gateways that follow', async () => {
    const payment = await rig.checkout()
    for (let presses = 1; presses <= MAX_ATTEMPTS; presses += 1) {
      first.answers('startCheckout', NOT_SENT)
      second.answers('startCheckout', REFUSED)
      const { payment: seen } = await press(payment)
      assert.equal(seen.status, presses < MAX_ATTEMPTS ? 'pending' : 'failed', `press ${presses}`)
      assert.deepEqual([seen.attemptsUsed, seen.failovers], [2 * presses, presses])
    }
    await assert.rejects(press(payment), /failed/)
  })

  it('failover happens also at the last submission', async () => {
    const payment = await rig.checkout()
    for (let presses = 1; presses < MAX_ATTEMPTS; presses += 1) {
      first.answers('startCheckout', DECLINED)
      await press(payment)
    }
    first.answers('startCheckout', NOT_SENT)
    second.answers('startCheckout', STARTED)
    assert.equal((await press(payment)).payment.status, 'processing')
  })
})

describe('a gateway that may have executed', () => {
  const UNREADABLE: Outcome = { kind: 'unknown', reason: 'unreadable', message: 'garbage' }
  const maybeSubmitted: Record<string, Scripted> = {
    'did not answer': NO_ANSWER,
    'sent an unreadable response': UNREADABLE,
    'does not know the key yet': { ...UNREADABLE, reason: 'not_found' },
    'waits for the payer': PENDING,
    declined: DECLINED,
  }
  for (const [reason, outcome] of Object.entries(maybeSubmitted)) {
    it(`no other gateway takes over when the first one ${reason}`, async () => {
      const payment = await rig.checkout()
      first.answers('startCheckout', outcome)
      await press(payment)
      assert.deepEqual(second.calls, [])
      assert.equal((await attemptsOf(payment)).length, 1)
    })
  }

  it('no other gateway takes over when the resolver took the attempt over before the first call returned', async () => {
    const payment = await rig.checkout()
    first.answers('startCheckout', async () => {
      rig.clock.advance(60_000)
      first.answers('verify', NO_ANSWER)
      assert.equal(await rig.resolve(), 1)
      return NOT_SENT
    })
    const { payment: seen } = await press(payment)
    assert.equal(seen.status, 'processing')
    assert.deepEqual([second.calls, await attemptsOf(payment)], [[], ['scripted started']])
  })
})

describe('gateways with different channels', () => {
  const mpesa: Gateway = {
    ...scriptedGateway('mpesa'),
    rails: [{ currency: 'KES', channels: ['mobile_money'], prompts: true, networks: ['mpesa_ke'] }],
  }
  const airtel: Gateway = {
    ...scriptedGateway('airtel'),
    rails: [{ currency: 'KES', channels: ['mobile_money'], prompts: true, networks: ['airtel_ke'] }],
  }
  const cards: Gateway = {
    ...scriptedGateway('cards'),
    rails: [{ currency: 'KES', channels: ['card', 'mobile_money'] }],
  }
  const appWith = (...list: Gateway[]): PaymentsApp => ({ ...rig.app, gateways: fixedGateways(list) })
  const choose = async (withGateways: PaymentsApp, choice: CheckoutChoice) =>
    (await requireOffered(withGateways, await rig.checkout(), choice)).map(({ gateway }) => gateway.name)
  const PHONE = { channel: 'mobile_money', phone: '+254712345678' } as const

  it('a gateway with mobile money alone hides no cards of the next one', async () => {
    const offer = await findOffer(appWith(mpesa, cards), await rig.checkout())
    assert.deepEqual(
      [offer.channels, offer.asksPhone, offer.savesCards],
      [['mobile_money', 'card'], true, true],
    )
    assert.deepEqual(await choose(appWith(mpesa, cards), { channel: 'card' }), ['cards'])
  })

  it('the page offers the networks of every gateway, and the network decides the gateway', async () => {
    const withAll = appWith(mpesa, cards, airtel)
    const { networks } = await findOffer(withAll, await rig.checkout())
    assert.deepEqual(
      networks.map(({ code }) => code),
      ['mpesa_ke', 'airtel_ke', 'equitel_ke', 'tkash_ke'],
    )
    assert.deepEqual(
      networks.filter(({ hasPage }) => hasPage).map(({ code }) => code),
      ['equitel_ke', 'tkash_ke'],
      'those that only the page for all networks reaches',
    )
    assert.deepEqual(await choose(withAll, { ...PHONE, network: 'mpesa_ke' }), ['mpesa', 'cards'])
    assert.deepEqual(await choose(withAll, { ...PHONE, network: 'airtel_ke' }), ['airtel', 'cards'])
    assert.deepEqual(await choose(withAll, { channel: 'mobile_money', network: 'tkash_ke' }), ['cards'])
    const prompting = appWith(mpesa, airtel)
    await assert.rejects(choose(prompting, { ...PHONE, network: 'tkash_ke' }), hasIssue('network'))
    await assert.rejects(choose(withAll, { channel: 'mobile_money' }), hasIssue('phone'))
  })

  it('a network with a page of its own needs no number, and its page takes no payers of other networks', async () => {
    const wallet: Gateway = {
      ...scriptedGateway('wallet'),
      rails: [{ currency: 'KES', channels: ['mobile_money'], networks: ['tkash_ke'] }],
    }
    const both = appWith(mpesa, wallet)
    const { networks, asksPhone } = await findOffer(both, await rig.checkout())
    assert.deepEqual(
      networks.map(({ code, hasPage }) => [code, hasPage]),
      [
        ['mpesa_ke', false],
        ['tkash_ke', true],
      ],
    )
    assert.equal(asksPhone, true)
    assert.equal((await findOffer(appWith(wallet), await rig.checkout())).asksPhone, false)
    assert.deepEqual(await choose(both, { channel: 'mobile_money', network: 'tkash_ke' }), ['wallet'])
    assert.deepEqual(await choose(both, { ...PHONE, network: 'mpesa_ke' }), ['mpesa'])
  })

  it('the page asks for no number if the first gateway of mobile money asks on its own page', async () => {
    const pageFirst = appWith(cards, mpesa)
    const { asksPhone, networks } = await findOffer(pageFirst, await rig.checkout())
    assert.deepEqual([asksPhone, networks], [false, []])
    assert.deepEqual(await choose(pageFirst, { channel: 'mobile_money' }), ['cards'])
  })

  it('a gateway that wants a number of every payer gets no payment without one, and the page asks for it if it is the first', async () => {
    const contact: Gateway = {
      ...scriptedGateway('contact'),
      rails: [{ currency: 'KES', channels: ['card'], needsPhone: true }],
    }
    const [contactFirst, cardsFirst] = [appWith(contact, cards), appWith(cards, contact)]
    const askedBy = async (one: PaymentsApp, payment: PaymentRow) =>
      (await findOffer(one, payment)).contactChannels
    const payment = await rig.checkout()
    assert.deepEqual(await askedBy(contactFirst, payment), ['card'])
    assert.deepEqual(await askedBy(contactFirst, { ...payment, customerPhone: PHONE.phone }), [])
    assert.deepEqual(await askedBy(cardsFirst, payment), [])
    const typed = { channel: 'card', contactPhone: PHONE.phone } as const
    assert.deepEqual(await choose(contactFirst, typed), ['contact', 'cards'])
    await assert.rejects(choose(contactFirst, { channel: 'card' }), hasIssue('phone'))
    assert.deepEqual(await choose(cardsFirst, { channel: 'card' }), ['cards'])
    assert.deepEqual(await choose(cardsFirst, typed), ['cards', 'contact'])
  })
})

const hasIssue = (field: string) => (error: unknown) =>
  error instanceof ApiError && error.details.some((issue) => issue.field === field)

describe('a charge of a saved method', () => {
  it('a charge of a saved method never fails over to another gateway', async () => {
    first.answers('chargeSaved', NOT_SENT)
    const charge = await rig.charge()
    assert.deepEqual([charge.status, charge.failureCode], ['failed', 'provider_unavailable'])
    assert.deepEqual(second.calls, [])
  })
})
