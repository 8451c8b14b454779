// The saved methods that the checkout page offers to a returning payer, without JavaScript.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { CUSTOMER, initiateBody, payWith } from '../support/builders.ts'
import { fillIn, makeLink } from '../support/links.ts'
import { createPayer, headingOf, mainTextOf, openCheckout, type Page } from '../support/payer.ts'
import { eventsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const OFFERED = { offerSavedMethods: true }

/** The ids of the offered methods, in their order. */
const offeredIn = (page: Page) => [...page.html.matchAll(/value="saved:([^"]+)"/g)].map(([, id]) => id)
const labelsIn = (page: Page) =>
  [...page.html.matchAll(/<label for="saved-\d">.*?<bdi dir="ltr">([^<]+)</g)].map(([, label]) => label)
const chosenIn = (page: Page) => /name="channel" id="([^"]+)"[^>]* checked/.exec(page.html)?.[1]

/** The saved method of a customer who has paid with the instrument. */
async function save(api: Api, instrument: string, changes: object = {}) {
  const { paymentMethod, customer } = await payWith(api, instrument, { ...changes })
  return { id: String(paymentMethod.uuid), customerId: String(customer.uuid) }
}

const executionsOf = async (api: Api, reference: string) =>
  (await api.get(`/api/v1/sandbox/executions?reference=${reference}`)).body.data

/** Another payment of the same customer, on its page. */
async function comeBack(api: Api, changes: object = OFFERED) {
  const payer = createPayer()
  const opened = await openCheckout(api, payer, { ...changes })
  const pay = (id: string, page = opened.page) => payer.submit(page, '/attempts', { channel: `saved:${id}` })
  return { ...opened, payer, pay }
}

describe('saved methods on the checkout page', () => {
  it('pays with the saved method that a returning payer chooses, in one step', async () => {
    const { api } = await service.newMerchant()
    const { id } = await save(api, 'card_success')
    const { page, pay, read, reference, uuid } = await comeBack(api)
    assert.deepEqual([labelsIn(page), chosenIn(page)], [['Visa •••• 4242'], 'saved-1'])
    assert.match(page.html, /<details class="ways"><summary>Pay another way<\/summary>/)
    const paid = await pay(id)
    assert.equal(headingOf(paid), 'Paid')
    assert.match(mainTextOf(paid), /Paid with Visa •••• 4242/)
    const payment = await read()
    assert.deepEqual(
      [payment.status, payment.offerSavedMethods, payment.channel, payment.amountPaid],
      ['successful', true, 'saved', '1250.50'],
    )
    assert.equal(payment.paymentMethod.uuid, id)
    const executed = await executionsOf(api, reference)
    assert.deepEqual(
      executed.map(({ kind, amount }: { kind: string; amount: string }) => [kind, amount]),
      [['charge', '1250.50']],
    )
    const events = await eventsOf(service.db, uuid)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['payment.pending', 'payment.processing', 'payment.successful'],
    )
  })

  it('offers the default first, then the last used, with masked labels alone', async () => {
    const { api } = await service.newMerchant()
    await save(api, 'card_declined_later')
    const { id, customerId } = await save(api, 'card_3ds')
    await save(api, 'card_success')
    assert.equal(
      (await api.post(`/api/v1/customers/${customerId}/payment-methods/${id}/default`, {})).http,
      200,
    )
    const { page } = await comeBack(api)
    assert.deepEqual(labelsIn(page), ['Visa •••• 3155', 'Visa •••• 4242', 'Visa •••• 0341'])
    assert.ok(!page.html.includes('rtk_') && !page.html.includes(CUSTOMER.email))
  })

  it('offers another way after a decline, and the payment stays open', async () => {
    const { api } = await service.newMerchant()
    const { id } = await save(api, 'card_declined_later')
    const { pay, read, payer, reference } = await comeBack(api)
    const declined = await pay(id)
    assert.match(mainTextOf(declined), /not enough money.*You have not been charged/i)
    assert.match(declined.html, /<details class="ways" open>/)
    assert.equal(chosenIn(declined), 'way-mobile_money')
    const open = await read()
    assert.deepEqual([open.status, open.paymentMethod, open.failure], ['pending', null, null])
    await payer.payByCard(declined, 'card_success')
    const payment = await read()
    assert.deepEqual([payment.status, payment.channel], ['successful', 'card'])
    assert.notEqual(payment.paymentMethod.uuid, id)
    assert.deepEqual((await executionsOf(api, reference)).length, 1)
  })

  it('advises another way if the bank wants an approval', async () => {
    const { api } = await service.newMerchant()
    const { id } = await save(api, 'card_auth_required_later')
    const { pay, read } = await comeBack(api)
    const text = mainTextOf(await pay(id))
    assert.match(text, /Your bank wants you to approve this payment\..*Please pay another way\./)
    const { status, attempts } = await read()
    assert.deepEqual([status, attempts[0].failureCode], ['pending', 'authentication_required'])
  })

  it('waits while the outcome is unknown, and charges once', async () => {
    const { api } = await service.newMerchant()
    const { id } = await save(api, 'card_lost_answer_later')
    const { pay, read, reference, page } = await comeBack(api)
    assert.equal(headingOf(await pay(id)), 'One moment')
    // The form of the open page again, as by the back button.
    await pay(id, page)
    const payment = await eventually(read, ({ status }) => status !== 'processing', 60_000)
    assert.deepEqual([payment.status, payment.attempts.length], ['successful', 1])
    assert.equal((await executionsOf(api, reference)).length, 1)
  })

  it('executes one charge for concurrent submits, also of different methods', async () => {
    const { api } = await service.newMerchant()
    const [first, second] = [await save(api, 'card_success'), await save(api, 'card_3ds')]
    const { pay, read, reference } = await comeBack(api)
    const ids = [first.id, second.id, first.id, second.id]
    await Promise.all(ids.map((id) => pay(id)))
    const payment = await read()
    assert.deepEqual([payment.status, payment.attempts.length], ['successful', 1])
    assert.equal((await executionsOf(api, reference)).length, 1)
  })
})

const SET_CURRENCIES = sql`update payment_methods set currencies = '{USD}' where id = $1`
const SET_EXPIRY = sql`update payment_methods set expires_at = now() - interval '1 second' where id = $1`

describe('saved methods that the checkout page does not offer', () => {
  /** The page offers nothing, and refuses the method if its id is posted all the same. */
  async function assertRefused(api: Api, id: string, changes: object = OFFERED): Promise<void> {
    const { page, pay, read, reference } = await comeBack(api, changes)
    assert.ok(!offeredIn(page).includes(id), page.html)
    const refused = await pay(id)
    assert.match(mainTextOf(refused), /Choose how you would like to pay/)
    const { status, attempts } = await read()
    assert.deepEqual([status, attempts], ['pending', []])
    assert.deepEqual(await executionsOf(api, reference), [])
  }

  it('are those of a payment that did not ask for them', async () => {
    const { api } = await service.newMerchant()
    const { id } = await save(api, 'card_success')
    await assertRefused(api, id, {})
    await assertRefused(api, id, { offerSavedMethods: false })
    await assertRefused(api, id, { offerSavedMethods: null })
  })

  it('are those of another customer, of another merchant, and unknown ones', async () => {
    const { api } = await service.newMerchant()
    const { api: other } = await service.newMerchant()
    const customer = { ...CUSTOMER, email: 'someone.else@example.com' }
    const [stranger, foreign] = [
      await save(api, 'card_success', { customer }),
      await save(other, 'card_success'),
    ]
    for (const id of [stranger.id, foreign.id, UNKNOWN_UUID, 'nonsense']) await assertRefused(api, id)
  })

  it('are revoked, expired and of another currency', async () => {
    const { api } = await service.newMerchant()
    const revoked = await save(api, 'card_success')
    const path = `/api/v1/customers/${revoked.customerId}/payment-methods/${revoked.id}`
    assert.equal((await api.send('DELETE', path)).http, 200)
    const expired = await save(api, 'card_3ds')
    await service.db.query(SET_EXPIRY, [expired.id])
    const dollars = await save(api, 'card_declined_later')
    await service.db.query(SET_CURRENCIES, [dollars.id])
    for (const { id } of [revoked, expired, dollars]) await assertRefused(api, id)
  })

  it('are all of them on a payment link, where a visitor types the e-mail address', async () => {
    const { api } = await service.newMerchant()
    const { id } = await save(api, 'card_success')
    const link = await makeLink(api)
    const payer = createPayer()
    const { location } = await fillIn(payer, await payer.open(link.url), { email: CUSTOMER.email })
    const page = await payer.open(location ?? '')
    assert.deepEqual(offeredIn(page), [])
    await payer.submit(page, '/attempts', { channel: `saved:${id}` })
    const [payment] = (await api.get(`/api/v1/payment-links/${link.uuid}/payments`)).body.data
    assert.deepEqual([payment.status, payment.attempts, payment.offerSavedMethods], ['pending', [], false])
  })
})

describe('offerSavedMethods', () => {
  it('is part of the body: the same reference with another value is another request', async () => {
    const { api } = await service.newMerchant()
    const body = initiateBody()
    const send = (changes: object) => api.post('/api/v1/checkout/initiate-payment', { ...body, ...changes })
    const [absent, off] = [await send({}), await send({ offerSavedMethods: false })]
    assert.deepEqual([absent.body.data.offerSavedMethods, off.body.data.uuid], [false, absent.body.data.uuid])
    assertApiError(await send(OFFERED), 'duplicate_reference')
    assertApiError(
      await api.post('/api/v1/checkout/initiate-payment', initiateBody({ offerSavedMethods: 'yes' })),
      'validation_failed',
    )
  })

  it('is unknown to P2P payments, which charge nothing', async () => {
    const { api } = await service.newMerchant()
    const answer = await api.post('/api/v1/p2p/payments', initiateBody(OFFERED))
    assertApiError(answer, 'unknown_field')
  })
})
