// The provider as Medusa calls it, with a whole service.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { testService } from '../../../test/support/service.ts'
import { Cowry } from '../../sdk/src/index.ts'
import { createTestEvent, signTestEvent } from '../../sdk/src/testing.ts'
import { CowryPaymentProvider } from '../src/provider.ts'

const service = await testService({ after })
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const options = { apiKey: service.demoKey ?? '', baseUrl: service.url, webhookSecret: SECRET }
const provider = new CowryPaymentProvider({}, options)
const cowry = new Cowry(options)

const customer = { id: 'cus_1', email: 'amina@example.com', first_name: 'Amina', last_name: 'Odhiambo' }

function newSession(amount: string, currency_code = 'kes') {
  const session_id = `payses_${randomUUID()}`
  const context = { customer, idempotency_key: session_id }
  return { amount: { value: amount }, currency_code, data: { session_id }, context }
}

async function start(amount = '1250.5') {
  const session = newSession(amount)
  return { session, ...(await provider.initiatePayment(session)) }
}

async function startPaid(
  amount?: string,
  instrument: 'card_success' | 'card_refund_declined' = 'card_success',
) {
  const started = await start(amount)
  await cowry.sandbox.completePayment(started.data.reference, { instrument })
  return started
}

async function deliver(event: ReturnType<typeof createTestEvent>, secret = SECRET) {
  const { body, headers } = await signTestEvent(event, secret)
  return provider.getWebhookActionAndData({ data: JSON.parse(body), rawData: Buffer.from(body), headers })
}

describe('the payment provider of Medusa', () => {
  it('opens a checkout for a session, once, and asks the customer to pay', async () => {
    const { session, id, status, data } = await start()
    assert.equal(status, 'requires_more')
    assert.match(data.checkoutUrl ?? '', /^http:.+\/pay\//)
    assert.equal((await provider.initiatePayment(session)).id, id)
    assert.equal((await cowry.payments.get(id)).sourceAmount, '1250.50')
    assert.equal((await provider.authorizePayment({ data })).status, 'requires_more')
    await assert.rejects(provider.capturePayment({ data }), { type: 'not_allowed' })
  })

  it('is captured when the customer has paid', async () => {
    const { data } = await startPaid()
    const authorized = await provider.authorizePayment({ data })
    assert.equal(authorized.status, 'captured')
    assert.equal(authorized.data.status, 'successful')
    assert.equal((await provider.getPaymentStatus({ data })).status, 'captured')
    await provider.capturePayment({ data: authorized.data })
    assert.equal((await provider.retrievePayment({ data })).data.uuid, data.uuid)
  })

  it('stays pending while the outcome is not known', async () => {
    const { data } = await start()
    await cowry.sandbox.completePayment(data.reference, { instrument: 'card_unknown_status' })
    const { status } = await provider.getPaymentStatus({ data })
    assert.equal(status, 'pending')
    assert.equal((await cowry.payments.get(data.uuid)).status, 'processing')
  })

  it('refunds a part once, although Medusa repeats the call', async () => {
    const { data } = await startPaid('100')
    const refund = { data, amount: { value: '30.10' }, context: { idempotency_key: `ref_${randomUUID()}` } }
    const first = await provider.refundPayment(refund)
    const second = await provider.refundPayment(refund)
    assert.equal(second.data.refund.uuid, first.data.refund.uuid)
    assert.equal((await cowry.payments.get(data.uuid)).refundedAmount, '30.10')
    await assert.rejects(provider.refundPayment({ data, amount: 100 }), { type: 'not_allowed' })
  })

  it('opens another payment when the amount changes, and ends the first', async () => {
    const { session, data } = await start('100')
    const same = await provider.updatePayment({ ...session, amount: '100.00', data })
    assert.equal(same.data.uuid, data.uuid)
    // As Medusa does it: without the customer.
    const { data: changed } = await provider.updatePayment({ currency_code: 'kes', amount: '120', data })
    const second = await cowry.payments.get(String(changed.uuid))
    assert.equal(second.customer.email, customer.email)
    // By this number the webhook recognizes a payment that was replaced.
    assert.equal(second.metadata.medusaRevision, '2')
    assert.notEqual(changed.uuid, data.uuid)
    assert.equal((await cowry.payments.get(data.uuid)).status, 'abandoned')
    await cowry.sandbox.completePayment(String(changed.reference), { instrument: 'card_success' })
    assert.equal((await provider.authorizePayment({ data: changed })).status, 'captured')
    await assert.rejects(provider.updatePayment({ ...session, amount: '90', data: changed }), {
      type: 'not_allowed',
    })
  })

  it('ends an open payment, keeps a paid session, and refunds a paid one that is cancelled', async () => {
    const open = await start()
    await provider.deletePayment({ data: open.data })
    await provider.cancelPayment({ data: open.data })
    assert.equal((await provider.getPaymentStatus({ data: open.data })).status, 'canceled')
    const paid = await startPaid()
    await assert.rejects(provider.deletePayment({ data: paid.data }), { type: 'not_allowed' })
    await provider.cancelPayment({ data: paid.data })
    await provider.cancelPayment({ data: paid.data })
    const { status, refundedAmount } = await cowry.payments.get(paid.data.uuid)
    assert.deepEqual([status, refundedAmount], ['refunded', '1250.50'])
  })

  it('is neither captured nor authorized after a refund', async () => {
    const { data } = await startPaid()
    await cowry.refunds.create({ paymentUuid: data.uuid })
    assert.equal((await provider.authorizePayment({ data })).status, 'canceled')
    await assert.rejects(provider.capturePayment({ data }), { type: 'not_allowed' })
    const { data: cancelled } = await provider.cancelPayment({ data })
    assert.ok('status' in cancelled && cancelled.status === 'refunded', JSON.stringify(cancelled))
  })

  it('tries another refund when a cancelled payment could not be refunded', async () => {
    const { data } = await startPaid('100', 'card_refund_declined')
    await assert.rejects(provider.cancelPayment({ data }), { type: 'not_allowed' })
    await assert.rejects(provider.cancelPayment({ data }), { type: 'not_allowed' })
    const statuses: string[] = []
    for await (const { status } of cowry.refunds.list({ payment: data.uuid })) statuses.push(status)
    assert.deepEqual(statuses, ['failed', 'failed'])
  })

  it('opens another payment when the checkout of the session has ended', async () => {
    const { session, data } = await start('100')
    await cowry.payments.cancel(data.uuid)
    const { status, data: reopened } = await provider.updatePayment({ ...session, data })
    assert.equal(status, 'requires_more')
    assert.notEqual(reopened.uuid, data.uuid)
    assert.notEqual(reopened.checkoutUrl, data.checkoutUrl)
  })

  it('keeps the payment of a currency without decimals when the amount stays', async () => {
    const session = newSession('5000', 'xof')
    const { data } = await provider.initiatePayment({ ...session, data: { ...session.data, country: 'sn' } })
    assert.equal((await provider.updatePayment({ ...session, data })).data.uuid, data.uuid)
    assert.equal((await cowry.payments.get(data.uuid)).status, 'pending')
  })

  it('sends a country of the customer only where one is required and uses the currency', async () => {
    const inShop = new CowryPaymentProvider({}, { ...options, country: 'CI' })
    const countryOf = async (currency: string, country_code: string) => {
      const session = newSession('5000', currency)
      const context = { ...session.context, customer: { ...customer, billing_address: { country_code } } }
      const { id, data } = await inShop.initiatePayment({ ...session, context })
      return { data, country: (await cowry.payments.get(id)).country }
    }
    const kenyan = await countryOf('kes', 'de')
    assert.equal(kenyan.country, 'KE')
    assert.equal((await countryOf('xof', 'de')).country, 'CI')
    assert.equal((await countryOf('xof', 'sn')).country, 'SN')
    const { data } = await inShop.updatePayment({ amount: 5, currency_code: 'xof', data: kenyan.data })
    assert.equal((await cowry.payments.get(String(data.uuid))).country, 'CI')
    const session = newSession('10', 'eur')
    const french = await inShop.initiatePayment({ ...session, data: { ...session.data, country: 'fr' } })
    const dearer = await inShop.updatePayment({ amount: 11, currency_code: 'eur', data: french.data })
    assert.equal((await cowry.payments.get(String(dearer.data.uuid))).country, 'FR')
  })

  it('returns the payment of the session although the name of the customer has changed', async () => {
    const { session, id } = await start()
    const renamed = { ...session.context, customer: { ...customer, last_name: 'Otieno' } }
    assert.equal((await provider.initiatePayment({ ...session, context: renamed })).id, id)
    const other = { ...session, amount: { value: '7' } }
    await assert.rejects(provider.initiatePayment(other), /duplicate_reference/)
  })

  it('offers saved methods only if the shop allows it, and never to a guest', async () => {
    const offers = async (
      offerSavedMethods: boolean,
      session: Parameters<typeof provider.initiatePayment>[0],
    ) => {
      const shop = new CowryPaymentProvider({}, { ...options, offerSavedMethods })
      return (await cowry.payments.get((await shop.initiatePayment(session)).id)).offerSavedMethods
    }
    assert.equal((await cowry.payments.get((await start()).id)).offerSavedMethods, false)
    assert.equal(await offers(true, newSession('10')), true)
    const { context: _, data, ...guest } = newSession('10')
    assert.equal(await offers(true, { ...guest, data: { ...data, email: 'guest@example.com' } }), false)
  })

  it('refunds a payment that is paid after another one has replaced it, once, and reports it', async () => {
    const warnings: string[] = []
    const logged = new CowryPaymentProvider({ logger: { warn: (text) => warnings.push(text) } }, options)
    const { data } = await startPaid('100')
    const { metadata } = await cowry.payments.get(data.uuid)
    const { body, headers } = await signTestEvent(
      createTestEvent('payment.successful', { uuid: data.uuid, metadata }),
      SECRET,
    )
    const webhook = { data: {}, rawData: body, headers }
    assert.equal((await logged.getWebhookActionAndData(webhook)).action, 'captured')
    // What updatePayment does while the customer is paying.
    await cowry.payments.initiate({
      amount: 120,
      currency: 'KES',
      reference: `${data.reference}-2`,
      customer: { email: customer.email, firstname: 'Amina', lastname: 'Odhiambo' },
      metadata: { ...metadata, medusaRevision: '2' },
    })
    for (let times = 0; times < 2; times += 1)
      assert.equal((await logged.getWebhookActionAndData(webhook)).action, 'not_supported')
    assert.equal((await cowry.payments.get(data.uuid)).refundedAmount, '100.00')
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', new RegExp(`${data.uuid}.+refund .+ is successful`))
  })

  it('does not accept a payment without a session', async () => {
    const { uuid } = await cowry.payments.initiate({
      amount: 10,
      currency: 'KES',
      reference: randomUUID(),
      customer: { email: customer.email, firstname: 'Amina', lastname: 'Odhiambo' },
    })
    await assert.rejects(provider.authorizePayment({ data: { uuid } }), { type: 'invalid_data' })
  })

  it('does not accept the payment of another session', async () => {
    const paid = await startPaid()
    const { data } = await start()
    const stolen = { ...data, uuid: paid.data.uuid }
    await assert.rejects(provider.authorizePayment({ data: stolen }), { type: 'invalid_data' })
  })

  it('needs the e-mail address of a guest', async () => {
    const { context: _, ...session } = newSession('10')
    await assert.rejects(provider.initiatePayment(session), /data\.email/)
    const guest = { ...session, data: { ...session.data, email: 'guest@example.com' } }
    assert.equal((await provider.initiatePayment(guest)).status, 'requires_more')
  })

  it('reports a paid session from a signed webhook, with the amount of Medusa, and refuses a forged one', async () => {
    const metadata = { medusaSession: 'payses_1', medusaAmount: '107.2575' }
    const paid = createTestEvent('payment.successful', { metadata })
    const data = { session_id: 'payses_1', amount: '107.2575' }
    assert.deepEqual(await deliver(paid), { action: 'captured', data })
    assert.deepEqual(await deliver(createTestEvent('payment.failed', { metadata })), {
      action: 'failed',
      data,
    })
    const others = [createTestEvent('payment.pending', { metadata }), createTestEvent('payment.successful')]
    for (const event of others) assert.deepEqual(await deliver(event), { action: 'not_supported' })
    await assert.rejects(deliver(paid, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'), {
      code: 'invalid_signature',
    })
  })

  it('refuses to start without its options', () => {
    assert.throws(() => CowryPaymentProvider.validateOptions({ apiKey: 'x', baseUrl: 'y' }), /webhookSecret/)
    CowryPaymentProvider.validateOptions(options)
  })
})
