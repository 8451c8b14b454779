// Payment methods beside cards: what is asked for, and what is saved.

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Currency } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import type { Attempt, CheckoutChoice } from '../../../src/gateways/gateway.ts'
import type { Fault } from '../fake-server.ts'
import { CARD, makeAttempt, makeCharge, RETURN_URL, type StripeRig, startStripe } from './rig.ts'

const TRANSFER: CheckoutChoice = { channel: 'bank_transfer' }

const attemptIn = (currency: Currency, country: string | null, changes: Partial<Attempt> = {}) =>
  makeAttempt({ amount: money(125_050n, currency), country, ...changes })

const formsOf = ({ provider }: StripeRig) =>
  provider.server.requests.map(({ path, text }) => ({
    path,
    form: Object.fromEntries(new URLSearchParams(text)),
  }))

/** The outcome of a checkout that was started. */
async function started(rig: StripeRig, attempt: Attempt, choice: CheckoutChoice) {
  const start = await rig.gateway.startCheckout(attempt, choice, RETURN_URL)
  assert.ok(start.kind === 'started', JSON.stringify(start))
  return {
    reference: start.gatewayReference,
    verify: () => rig.gateway.verify(attempt, start.gatewayReference),
  }
}

describe('a bank transfer at Stripe', () => {
  const cases = [
    ['EUR', 'FR', 'eu_bank_transfer', 'FR'],
    ['EUR', 'IT', 'eu_bank_transfer', 'DE'],
    ['EUR', null, 'eu_bank_transfer', 'DE'],
    ['GBP', 'GB', 'gb_bank_transfer', undefined],
    ['USD', 'US', 'us_bank_transfer', undefined],
  ] as const
  for (const [currency, country, type, account] of cases)
    it(`a bank transfer at Stripe in ${currency} from ${country} is asked for alone, with a customer`, async (t) => {
      const rig = await startStripe(t)
      await started(rig, attemptIn(currency, country), TRANSFER)
      const [customer, session] = formsOf(rig)
      assert.equal(customer?.path, '/v1/customers')
      assert.deepEqual(customer?.form.email, 'amina@example.com')
      assert.equal(customer?.form.name, 'Amina Otieno')
      const form = session?.form ?? {}
      assert.equal(form['payment_method_types[0]'], 'customer_balance')
      assert.equal(form['payment_method_options[customer_balance][bank_transfer][type]'], type)
      const field = 'payment_method_options[customer_balance][bank_transfer][eu_bank_transfer][country]'
      assert.equal(form[field], account)
      assert.match(String(form.customer), /^cus_/)
      for (const absent of ['customer_email', 'customer_creation', 'payment_intent_data[setup_future_usage]'])
        assert.equal(form[absent], undefined, absent)
    })

  it('a bank transfer at Stripe is pending until the money arrives, and saves nothing', async (t) => {
    const rig = await startStripe(t)
    const waiting = attemptIn('EUR', 'DE')
    const first = await started(rig, waiting, TRANSFER)
    await rig.provider.finish(waiting.key, { kind: 'waits' })
    assert.deepEqual(await first.verify(), { kind: 'pending', gatewayReference: first.reference })
    const paid = attemptIn('EUR', 'DE')
    const second = await started(rig, paid, TRANSFER)
    await rig.provider.finish(paid.key, { kind: 'pays' })
    const outcome = await second.verify()
    assert.ok(outcome.kind === 'succeeded')
    assert.deepEqual([outcome.paid, outcome.savedMethod], [paid.amount, null])
  })

  const submit = async (t: TestContext, fault: Fault) => {
    const rig = await startStripe(t)
    const attempt = attemptIn('GBP', 'GB')
    rig.provider.server.injectFault(fault, { times: 1, on: /^POST \/v1\/customers$/ })
    const outcome = await rig.gateway.startCheckout(attempt, TRANSFER, RETURN_URL)
    return { rig, attempt, outcome }
  }

  for (const fault of ['cut_off_after_acting', 'http_500', 'html_503', 'garbage'] as const)
    it(`a bank transfer at Stripe whose customer was lost (${fault}) was not sent, and is sent with one customer later`, async (t) => {
      const { rig, attempt, outcome } = await submit(t, fault)
      assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', JSON.stringify(outcome))
      assert.ok(formsOf(rig).every(({ path }) => path === '/v1/customers'))
      await started(rig, attempt, TRANSFER)
      const [again] = formsOf(rig).slice(-2)
      assert.equal(again?.path, '/v1/customers')
    })

  it('a bank transfer at Stripe is submitted again with the same bytes', async (t) => {
    const rig = await startStripe(t)
    const attempt = attemptIn('USD', 'US')
    rig.provider.server.injectFault('cut_off_after_acting', { times: 1, on: /^POST \/v1\/checkout/ })
    const lost = await rig.gateway.startCheckout(attempt, TRANSFER, RETURN_URL)
    assert.ok(lost.kind === 'unknown' && lost.reason === 'no_answer')
    await started(rig, attempt, TRANSFER)
    const sessions = rig.provider.server.requests.filter(({ path }) => path === '/v1/checkout/sessions')
    assert.equal(sessions.length, 2)
    assert.equal(sessions[0]?.text, sessions[1]?.text)
  })
})

describe('the methods on the page of Stripe', () => {
  it('are saved if they can be; in Nigeria only cards are, so that the others are offered too', async (t) => {
    const rig = await startStripe(t)
    const fields = async (currency: Currency, choice: CheckoutChoice) => {
      await started(rig, attemptIn(currency, null), choice)
      const { form = {} } = formsOf(rig).at(-1) ?? {}
      return Object.entries(form)
        .filter(([name]) => name.endsWith('[setup_future_usage]'))
        .map(([name, value]) => `${name}=${value}`)
    }
    assert.deepEqual(await fields('EUR', CARD), ['payment_intent_data[setup_future_usage]=off_session'])
    assert.deepEqual(await fields('NGN', CARD), [
      'payment_method_options[card][setup_future_usage]=off_session',
    ])
    assert.deepEqual(await fields('NGN', { ...CARD, consent: null }), [])
  })

  const savedBy = async (rig: StripeRig, method: object) => {
    rig.provider.setPageMethod(method)
    const attempt = attemptIn('EUR', 'DE')
    const { verify } = await started(rig, attempt, CARD)
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    const outcome = await verify()
    assert.ok(outcome.kind === 'succeeded')
    return outcome.savedMethod
  }

  it('include SEPA debit, which is saved as a bank account for euros and charged again', async (t) => {
    const rig = await startStripe(t)
    const saved = await savedBy(rig, {
      type: 'sepa_debit',
      sepa_debit: { fingerprint: 'Rw3t', last4: '3000' },
    })
    assert.ok(saved)
    assert.deepEqual([saved.type, saved.card, saved.currencies], ['bank_account', null, ['EUR']])
    const charge = makeCharge({ amount: money(999n, 'EUR') })
    assert.equal((await rig.gateway.chargeSaved?.(charge, saved.credential))?.kind, 'succeeded')
  })

  it('include Link, which is saved once for an account and charged again', async (t) => {
    const rig = await startStripe(t)
    const link = (email: string) => savedBy(rig, { type: 'link', link: { email } })
    const saved = await link('amina@example.com')
    assert.ok(saved)
    assert.deepEqual([saved.type, saved.card], ['card', null])
    assert.doesNotMatch(saved.fingerprint, /amina/)
    assert.equal((await link('amina@example.com'))?.fingerprint, saved.fingerprint)
    assert.notEqual((await link('other@example.com'))?.fingerprint, saved.fingerprint)
    assert.equal((await rig.gateway.chargeSaved?.(makeCharge(), saved.credential))?.kind, 'succeeded')
  })

  it('include those of Nigeria, which are paid later or at once, and are not saved', async (t) => {
    const rig = await startStripe(t)
    for (const type of ['ng_card', 'ng_bank_transfer', 'ng_wallet']) {
      rig.provider.setPageMethod({ type, [type]: {} })
      const attempt = attemptIn('NGN', 'NG')
      const { verify, reference } = await started(rig, attempt, CARD)
      await rig.provider.finish(attempt.key, { kind: 'waits' })
      assert.deepEqual(await verify(), { kind: 'pending', gatewayReference: reference })
      const paid = attemptIn('NGN', 'NG')
      const second = await started(rig, paid, CARD)
      await rig.provider.finish(paid.key, { kind: 'pays' })
      const outcome = await second.verify()
      assert.ok(outcome.kind === 'succeeded' && outcome.savedMethod === null, type)
    }
  })
})

describe('a dispute at Stripe that names only its charge', () => {
  it('is about the payment of the charge', async (t) => {
    const rig = await startStripe(t)
    const charge = makeCharge()
    await rig.gateway.chargeSaved?.(charge, rig.provider.savedCredential('approves'))
    const { data } = JSON.parse(rig.provider.dispute(charge.key, 'open').body.toString())
    assert.match(data.object.charge, /^ch_/)
    assert.deepEqual(await rig.gateway.findKey?.(data.object.charge), { kind: 'key', key: charge.key })
  })
})
