// Every provider behind the whole service: the merchant has its own account there, and no other gateway is configured.

import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { after, afterEach, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { ChargeBehavior, FakeProvider } from '../gateways/conformance.ts'
import type { FakeFlutterwave } from '../gateways/flutterwave/fake.ts'
import { signWebhook } from '../gateways/paystack/fake.ts'
import type { FakeStripe } from '../gateways/stripe/fake.ts'
import { assertApiError } from '../support/assertions.ts'
import { chargeBody } from '../support/builders.ts'
import {
  attemptOf,
  deliver,
  fileContext,
  postponePolls,
  readPayment,
  startPaying,
} from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import {
  addAccount,
  addressOf,
  newMerchantAt,
  PROVIDER_NAMES,
  PROVIDERS,
  type ProviderName,
  saveCard,
  VAULT_ENV,
} from '../support/providers.ts'
import { testService } from '../support/service.ts'

const fakes = new Map<ProviderName, FakeProvider>()
for (const name of PROVIDER_NAMES) fakes.set(name, await PROVIDERS[name].start(fileContext({ after })))
const addresses = [...fakes].map(([name, fake]) => addressOf(name, fake))
const service = await testService({ after }, { env: Object.assign({}, VAULT_ENV, ...addresses) })
const { db } = service

function fakeOf(name: ProviderName): FakeProvider {
  const fake = fakes.get(name)
  assert.ok(fake)
  return fake
}

/** What the fakes report of a charge; Stripe and pawaPay report no fee with the payment. */
const REPORTED_FEES: Readonly<Record<ProviderName, string | null>> = {
  stripe: null,
  paystack: '18.76',
  flutterwave: '18.00',
  pawapay: null,
  wave: null,
  chapa: null,
}

/** Those that prompt the phone; the others have a page. */
const PROMPTING: readonly ProviderName[] = ['pawapay']

const isSuccessful = ({ status }: { status: string }) => status === 'successful'

const makeDue = sql<unknown>`
update refund_lookups
set due_at = now(), looked_until = now() - interval '1 hour'
where account like '%' || $1::text`
const selectLooked = sql<{ isDone: boolean }>`
select
  (
    select looked_until > now() - interval '50 minutes'
    from refund_lookups
    where account like '%' || $1::text
  )
  and not exists (select from attempts where account_id = $1::uuid and refund_lookup_due_at is not null) as "isDone"`

/** Waits for a look through the refunds of the account, and for the lookups that follow from it. */
async function lookThrough(accountId: string): Promise<void> {
  await db.query(makeDue, [accountId])
  await eventually(
    () => db.query(selectLooked, [accountId]),
    (rows) => rows.some(({ isDone }) => isDone),
    30_000,
  )
}

for (const name of PROVIDER_NAMES) {
  const { paymentTerms, channel, buildWebhook } = PROVIDERS[name]
  const fake = fakeOf(name)

  describe(`a merchant with an account at ${name}`, () => {
    const paid = async () => {
      const merchant = await newMerchantAt(service, name)
      const started = await startPaying(merchant.api, paymentTerms, channel)
      await postponePolls(db, started.uuid)
      const attempt = await attemptOf(db, started.uuid)
      return { merchant, started, attempt }
    }

    it(`collects at ${name}, and a webhook completes the payment`, async () => {
      const { merchant, started, attempt } = await paid()
      assert.equal(started.gateway, name)
      assert.deepEqual([attempt.gateway, attempt.accountId], [name, merchant.accountId])
      const isPrompt = PROMPTING.includes(name)
      const next = isPrompt ? started.page : `${started.page}/continue`
      assert.equal(started.pressed.headers.get('location'), next)
      const { pathname } = new URL(next, service.publicUrl)
      if (isPrompt) assert.match((await service.apiWith(undefined).get(pathname)).text, /MTN MoMo/)
      await fake.finish(attempt.key, { kind: 'pays' })
      const webhookPath = `/hooks/${name}/${merchant.uuid}`
      const webhook = await buildWebhook(fake, attempt.key, `${service.publicUrl}${webhookPath}`)
      // Neither the instance nor another merchant uses this account.
      assert.equal((await deliver(merchant.api, `/hooks/${name}`, webhook)).http, 404)
      assert.equal((await deliver(merchant.api, `/hooks/${name}/${randomUUID()}`, webhook)).http, 404)
      assert.equal((await deliver(merchant.api, webhookPath, webhook)).http, 200)
      const payment = await eventually(
        () => readPayment(merchant.api, started.uuid),
        ({ status }) => status === 'successful',
        15_000,
      )
      assert.equal(Number(payment.amountPaid), paymentTerms.amount)
      assert.equal(await fake.executions(attempt.key), 1)
    })

    it(`reopens the checkout when the payer leaves the page of ${name} unpaid`, async () => {
      const { merchant, started } = await paid()
      const back = await service.apiWith(undefined).get(`${started.page}/return`)
      assert.equal(back.http, 303)
      const { status } = await readPayment(merchant.api, started.uuid)
      assert.equal(status, 'processing')
    })

    if (!fake.savedCredential) return

    const savedBy = async (behavior: ChargeBehavior) => {
      const merchant = await newMerchantAt(service, name)
      const credential = await fake.savedCredential?.(behavior)
      assert.ok(credential)
      const token = await saveCard(db, name, merchant, credential)
      const { amount, currency } = paymentTerms
      const charge = () =>
        merchant.api.post('/api/v1/charges/recurring', chargeBody(token, { amount, currency }))
      return { merchant, charge }
    }

    it(`charges a saved card again at ${name}`, async () => {
      const { merchant, charge } = await savedBy('approves')
      const { body } = await charge()
      assert.equal(body.data.status, 'successful', JSON.stringify(body))
      const attempt = await attemptOf(db, body.data.uuid)
      assert.deepEqual([attempt.gateway, attempt.accountId], [name, merchant.accountId])
      assert.equal(await fake.executions(attempt.key), 1)
    })

    it(`books a refund that was made in the dashboard of ${name} once, by webhook and look, beside our own`, async () => {
      const { merchant, charge } = await savedBy('approves')
      const { uuid, reference } = (await charge()).body.data
      const { key } = await attemptOf(db, uuid)
      const webhook = await fake.refundInDashboard?.(key, 500n)
      const notify = async () => {
        if (!webhook) return lookThrough(merchant.accountId)
        const delivered = await deliver(merchant.api, `/hooks/${name}/${merchant.uuid}`, webhook)
        assert.equal(delivered.http, 200)
      }
      await Promise.all([notify(), notify()])
      const listed = async () => (await merchant.api.get(`/api/v1/refunds?payment=${uuid}`)).body.data
      const [booked] = await eventually(listed, ([one]) => one?.status === 'successful', 20_000)
      assert.deepEqual(
        [booked.source, booked.gatewayKey, booked.paymentReference],
        ['provider', null, reference],
      )
      assert.ok(booked.gatewayReference)
      await fake.refundInDashboard?.(key, 300n)
      await lookThrough(merchant.accountId)
      await eventually(listed, (all) => all.length === 2 && all.every(isSuccessful), 20_000)
      const own = await merchant.api.post('/api/v1/refunds', { paymentUuid: uuid })
      assert.equal(own.http, 201, own.text)
      await Promise.all([lookThrough(merchant.accountId), notify()])
      const refunds = await eventually(listed, (all) => all.every(isSuccessful), 20_000)
      assert.deepEqual(
        refunds.map(({ source }: { source: string }) => source),
        ['api', 'provider', 'provider'],
      )
      const { body } = await merchant.api.get(`/api/v1/charges/${uuid}`)
      assert.deepEqual([body.data.status, body.data.refundedAmount], ['refunded', body.data.amountPaid])
      const { currency } = paymentTerms
      const wallet = await merchant.api.get(`/api/v1/wallet/balance?currency=${currency}`)
      const { availableBalance, pendingBalance } = wallet.body.data
      // The provider keeps its fee.
      const { fee } = body.data
      assert.deepEqual([availableBalance, pendingBalance], [fee === null ? '0.00' : `-${fee}`, '0.00'])
      assert.equal(fee, REPORTED_FEES[name])
    })

    it(`returns a checkout for the customer when the bank at ${name} requires authentication`, async () => {
      const { merchant, charge } = await savedBy('wants_customer')
      const { body } = await charge()
      assert.equal(body.data.status, 'failed', JSON.stringify(body))
      assert.equal(body.data.failure.code, 'authentication_required')
      const { recovery } = body.data
      const checkout = await readPayment(merchant.api, recovery.uuid)
      assert.deepEqual([checkout.status, checkout.paymentGateway], ['pending', name])
      assert.equal((await service.apiWith(undefined).get(new URL(recovery.checkoutUrl).pathname)).http, 200)
    })
  })
}

describe('a card that was saved at flutterwave', () => {
  it('expires with the token of Flutterwave, a year after the payment, although the card lives longer', async () => {
    const { paymentTerms, channel } = PROVIDERS.flutterwave
    const merchant = await newMerchantAt(service, 'flutterwave')
    const { uuid } = await startPaying(merchant.api, paymentTerms, channel)
    await fakeOf('flutterwave').finish((await attemptOf(db, uuid)).key, { kind: 'pays' })
    await eventually(() => readPayment(merchant.api, uuid), isSuccessful, 15_000)
    const payment = await readPayment(merchant.api, uuid)
    const { card, expiresAt } = payment.paymentMethod
    assert.ok(card.expiryYear > new Date(payment.paidAt).getUTCFullYear() + 1)
    assert.equal(Date.parse(expiresAt), Date.parse(payment.paidAt) + 365 * 24 * 3_600_000)
  })
})

describe('a payment in euro at stripe', () => {
  const stripe = fakeOf('stripe') as FakeStripe
  const EURO = { amount: 20, currency: 'EUR' }
  afterEach(() => stripe.setPageMethod(undefined))

  const METHODS = [
    [{ type: 'sepa_debit', sepa_debit: { fingerprint: 'Rw3t' } }, 'bank_account', 'Bank account'],
    [{ type: 'link', link: { email: 'payer@example.com' } }, 'card', 'Card'],
  ] as const
  for (const [method, type, label] of METHODS)
    it(`a payment in euro at stripe with ${method.type} saves it, and it is charged again`, async () => {
      const merchant = await newMerchantAt(service, 'stripe')
      const { uuid } = await startPaying(merchant.api, EURO)
      stripe.setPageMethod(method)
      await stripe.finish((await attemptOf(db, uuid)).key, { kind: 'pays' })
      await eventually(() => readPayment(merchant.api, uuid), isSuccessful, 15_000)
      const { paymentMethod } = await readPayment(merchant.api, uuid)
      const { recurringToken, ...facts } = paymentMethod
      assert.deepEqual([facts.type, facts.label, facts.card, facts.expiresAt], [type, label, null, null])
      const charged = await merchant.api.post('/api/v1/charges/recurring', chargeBody(recurringToken, EURO))
      assert.equal(charged.body.data.status, 'successful', charged.text)
    })

  it('a payment in euro at stripe by bank transfer is asked for as one, and is processing until the money arrives', async () => {
    const merchant = await newMerchantAt(service, 'stripe')
    const { uuid } = await startPaying(merchant.api, EURO, 'bank_transfer')
    const { key } = await attemptOf(db, uuid)
    const session = stripe.server.requests.find(({ text }) => text.includes(`client_reference_id=${key}`))
    assert.match(String(session?.text), /payment_method_types\[0\]=customer_balance/)
    assert.equal((await readPayment(merchant.api, uuid)).status, 'processing')
    await stripe.finish(key, { kind: 'pays' })
    const paid = await eventually(() => readPayment(merchant.api, uuid), isSuccessful, 15_000)
    assert.equal(paid.status, 'successful')
  })
})

describe('six disputes at paystack with an unknown status', () => {
  it('do not open the circuit breaker, and end when they are archived', async () => {
    const merchant = await newMerchantAt(service, 'paystack')
    const fake = fakeOf('paystack')
    const { amount, currency } = PROVIDERS.paystack.paymentTerms
    const credential = await fake.savedCredential?.('approves')
    assert.ok(credential)
    const token = await saveCard(db, 'paystack', merchant, credential)
    const charge = async () => {
      const { body } = await merchant.api.post(
        '/api/v1/charges/recurring',
        chargeBody(token, { amount, currency }),
      )
      return attemptOf(db, body.data.uuid).then(({ key }) => ({ uuid: String(body.data.uuid), key }))
    }
    const charges = await Promise.all(Array.from({ length: 6 }, charge))
    const path = `/hooks/paystack/${merchant.uuid}`
    const report = async (status: string) => {
      for (const { key } of charges) {
        const webhook = await fake.dispute?.(key, 'open')
        assert.ok(webhook)
        const renamed = signWebhook(webhook.body.toString().replaceAll('awaiting-merchant-feedback', status))
        assert.equal((await deliver(merchant.api, path, renamed)).http, 200)
      }
    }
    const renameTo = (status: string) =>
      fake.server.alter((value) =>
        JSON.parse(JSON.stringify(value).replaceAll('awaiting-merchant-feedback', status)),
      )
    const statusesOf = async () =>
      Promise.all(
        charges.map(async ({ uuid }) => (await merchant.api.get(`/api/v1/charges/${uuid}`)).body.data.status),
      )
    await report('awaiting-merchant-feedback')
    await eventually(statusesOf, (all) => all.every((status) => status === 'disputed'), 20_000)
    renameTo('asleep')
    const asked = () =>
      fake.server.requests.filter(({ path: asking }) => asking.startsWith('/dispute/')).length
    const before = asked()
    await report('asleep')
    await eventually(
      async () => asked() - before,
      (count) => count >= 6,
      20_000,
    )
    const gateways = await merchant.api.get('/api/v1/misc/gateways')
    const { health } = gateways.body.data.find((one: { name: string }) => one.name === 'paystack')
    assert.equal(health, 'up')
    renameTo('archived')
    await report('archived')
    await eventually(statusesOf, (all) => all.every(isSuccessfulStatus), 20_000)
    fake.server.clearFaults()
  })
})

describe('a chargeback at flutterwave without a webhook', () => {
  const flutterwave = fakeOf('flutterwave') as FakeFlutterwave
  const paidCharge = async () => {
    const merchant = await newMerchantAt(service, 'flutterwave')
    const { amount, currency } = PROVIDERS.flutterwave.paymentTerms
    const credential = await flutterwave.savedCredential('approves')
    assert.ok(credential)
    const token = await saveCard(db, 'flutterwave', merchant, credential)
    const made = await merchant.api.post('/api/v1/charges/recurring', chargeBody(token, { amount, currency }))
    const { uuid } = made.body.data
    const { key } = await attemptOf(db, uuid)
    const read = async () => (await merchant.api.get(`/api/v1/charges/${uuid}`)).body.data
    const until = (status: string) => eventually(read, (charge) => charge.status === status, 20_000)
    return { merchant, uuid, key, until }
  }

  it('is found by the look through the account, recorded once, and ends when Flutterwave says so', async () => {
    const ends = [
      ['won', 'successful'],
      ['accepted', 'reversed'],
    ] as const
    for (const [end, status] of ends) {
      const { merchant, uuid, key, until } = await paidCharge()
      flutterwave.chargeBack(key, 'initiated')
      await lookThrough(merchant.accountId)
      await until('disputed')
      // The merchant contests it: it stays open.
      flutterwave.chargeBack(key, 'declined')
      await lookThrough(merchant.accountId)
      flutterwave.chargeBack(key, end)
      await lookThrough(merchant.accountId)
      await until(status)
      const events = await merchant.api.get(`/api/v1/events?type=charge.disputed&limit=100`)
      const own = events.body.data.filter(
        ({ resource }: { resource: { uuid: string } }) => resource.uuid === uuid,
      )
      assert.equal(own.length, 1, 'the dispute was opened once')
    }
  })

  it('opens a case if its status is not known, and the gateway stays up', async () => {
    const { merchant, uuid, key } = await paidCharge()
    flutterwave.chargeBack(key, 'mediated')
    await lookThrough(merchant.accountId)
    const listed = async () =>
      (await service.admin.get(`/admin/v1/cases?kind=unknown_answer&payment=${uuid}`)).body.data
    const [found] = await eventually(listed, (cases) => cases.length === 1, 20_000)
    assert.match(found.providerMessage, /a chargeback that is mediated/)
    const gateways = await merchant.api.get('/api/v1/misc/gateways')
    const { health } = gateways.body.data.find((one: { name: string }) => one.name === 'flutterwave')
    assert.equal(health, 'up')
  })
})

const isSuccessfulStatus = (status: string) => status === 'successful'

describe('a charge at stripe whose response was lost', () => {
  it('asks Stripe about the object that a signed webhook names', async () => {
    const merchant = await newMerchantAt(service, 'stripe')
    const fake = fakeOf('stripe')
    const credential = await fake.savedCredential?.('approves')
    assert.ok(credential)
    const token = await saveCard(db, 'stripe', merchant, credential)
    const { amount, currency } = PROVIDERS.stripe.paymentTerms
    fake.server.injectFault('http_500', { on: /^POST \/v1\/payment_intents$/ })
    const charge = chargeBody(token, { amount, currency })
    const { data } = (await merchant.api.post('/api/v1/charges/recurring', charge)).body
    assert.deepEqual([data.status, data.gatewayReference], ['processing', null])
    const webhook = await fake.webhook(data.gatewayKey, 'payment_intent.succeeded')
    const { id } = JSON.parse(webhook.body.toString()).data.object
    assert.equal((await deliver(merchant.api, `/hooks/stripe/${merchant.uuid}`, webhook)).http, 200)
    await eventually(
      async () => fake.server.requests.some(({ path }) => path === `/v1/payment_intents/${id}`),
      (isAsked) => isAsked,
      15_000,
    )
    fake.server.clearFaults()
  })
})

describe('a payment at wave', () => {
  const fake = fakeOf('wave')
  const { paymentTerms, channel } = PROVIDERS.wave
  const pay = async () => {
    const merchant = await newMerchantAt(service, 'wave')
    const { uuid } = await startPaying(merchant.api, paymentTerms, channel)
    const { key } = await attemptOf(db, uuid)
    await fake.finish(key, { kind: 'pays' })
    await eventually(() => readPayment(merchant.api, uuid), isSuccessful, 15_000)
    return { merchant, uuid, key }
  }

  it('is refunded as a whole, once, although the first response is lost', async () => {
    const { merchant, uuid, key } = await pay()
    fake.server.injectFault('cut_off_after_acting', { on: /refund$/, times: 1 })
    const { body } = await merchant.api.post('/api/v1/refunds', { paymentUuid: uuid })
    assert.equal(body.data.status, 'pending', JSON.stringify(body))
    const read = async () => (await merchant.api.get(`/api/v1/refunds/${body.data.uuid}`)).body.data
    await eventually(read, isSuccessful, 20_000)
    assert.deepEqual(await fake.refunds?.(key), [5_000n])
  })

  it('is not refunded in part, which Wave cannot do', async () => {
    const { merchant, uuid, key } = await pay()
    const part = { paymentUuid: uuid, amount: 1_000, refundReference: 'part-1' }
    assertApiError(await merchant.api.post('/api/v1/refunds', part), 'partial_refund_not_supported')
    assert.deepEqual(await fake.refunds?.(key), [])
  })

  it('is for its own payers: those of another network are served by the next gateway', async () => {
    const merchant = await newMerchantAt(service, 'wave')
    await addAccount(service, merchant.uuid, 'pawapay')
    const gatewayOf = async (form: string) => {
      const { uuid } = await startPaying(merchant.api, paymentTerms, `channel=mobile_money&${form}`)
      return (await attemptOf(db, uuid)).gateway
    }
    assert.equal(await gatewayOf('network=wave_sn'), 'wave')
    const phone = `%2B22177${randomInt(1_000_000, 10_000_000)}`
    assert.equal(await gatewayOf(`network=orange_sn&phone=${phone}`), 'pawapay')
  })
})
