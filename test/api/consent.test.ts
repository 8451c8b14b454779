import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { LOCALES } from '../../src/pages/locales.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, ISO_TIME } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { fillIn, makeLink } from '../support/links.ts'
import { createPayer, mainTextOf, openCheckout, type Page, type Payer } from '../support/payer.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

async function merchantWith(savedMethods: string) {
  const { uuid, api } = await service.newMerchant()
  const body = JSON.stringify({ settings: { savedMethods } })
  const answer = await service.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
    body,
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(answer.body.data.settings.savedMethods, savedMethods, answer.text)
  return api
}

/** Pays by card on the page; `save` is whether the payer ticks the box. */
async function payByCard(payer: Payer, page: Page, save = false): Promise<void> {
  const chosen = await payer.submit(page, '/attempts', { channel: 'card', ...(save && { save: 'yes' }) })
  const [, href = ''] = /<a class="button[^"]*" href="([^"]+)"/.exec(chosen.html) ?? []
  await payer.submit(await payer.open(href), '', { instrument: 'card_success', action: 'pay' })
}

async function payOnPage(api: Api, changes: object = {}, save = false) {
  const payer = createPayer()
  const { page, read } = await openCheckout(api, payer, { ...changes })
  await payByCard(payer, page, save)
  const payment = await read()
  assert.equal(payment.status, 'successful')
  return { page, method: payment.paymentMethod }
}

describe('the consent to a saved card', () => {
  it('is asked by a notice in every language, and stored with when, where, wording and language', async () => {
    const { api } = await service.newMerchant()
    const payer = createPayer()
    const { checkoutUrl, read } = await openCheckout(api, payer)
    for (const [language, { messages }] of Object.entries(LOCALES)) {
      const page = await payer.open(`${checkoutUrl}?lang=${language}`)
      const [before = ''] = messages.saveNotice.split('{merchant}').toSorted((a, b) => b.length - a.length)
      assert.ok(mainTextOf(page).includes(before.trim()), `${language}: ${mainTextOf(page)}`)
      assert.match(page.html, /Another Shop/)
    }
    await payByCard(payer, await payer.open(`${checkoutUrl}?lang=sw`))
    const { paymentMethod, customer } = await read()
    const { agreedAt, ...consent } = paymentMethod.consent
    assert.match(agreedAt, ISO_TIME)
    assert.deepEqual(consent, { source: 'checkout', form: 'notice', wordingVersion: '2', language: 'sw' })
    const { data } = (await api.get(`/api/v1/customers/${customer.uuid}/payment-methods`)).body
    assert.deepEqual(data[0].consent, paymentMethod.consent)
  })

  it('the consent to a saved card with ask_with_checkbox saves the card only if the payer ticks the box', async () => {
    const api = await merchantWith('ask_with_checkbox')
    const { page, method } = await payOnPage(api)
    assert.match(mainTextOf(page), /Save this card\. .*Another Shop.* may charge it again later/)
    assert.match(page.html, /<input type="checkbox" name="save" value="yes">/)
    assert.equal(method, null)
    const ticked = await payOnPage(api, {}, true)
    assert.equal(ticked.method.consent.form, 'checkbox')
    assert.match(ticked.method.recurringToken, /^rtk_/)
  })

  it('the consent to a saved card with only_when_recurring saves the card, and says so, only for a recurring payment', async () => {
    const api = await merchantWith('only_when_recurring')
    const { page, method } = await payOnPage(api)
    assert.ok(!mainTextOf(page).includes('saves this card'))
    assert.equal(method, null)
    const recurring = await payOnPage(api, { isRecurring: true })
    assert.match(mainTextOf(recurring.page), /saves this card/)
    assert.equal(recurring.method.consent.form, 'notice')
    assert.equal((await payWith(api, 'card_success')).paymentMethod, null)
  })

  it('does not save a card whose payer has not seen the notice', async () => {
    const { api } = await service.newMerchant()
    const payer = createPayer()
    const { page, read, checkoutUrl } = await openCheckout(api, payer)
    const withoutNotice = {
      ...page,
      html: page.html.replaceAll(/<input type="hidden" name="consent"[^>]*>/g, ''),
    }
    await payByCard(payer, withoutNotice)
    assert.equal((await read()).paymentMethod, null)
    assert.equal((await payer.open(checkoutUrl)).http, 200)
  })

  it('names the payment link as the place of the consent', async () => {
    const { api } = await service.newMerchant()
    const link = await makeLink(api)
    const payer = createPayer()
    const { location } = await fillIn(payer, await payer.open(link.url))
    await payByCard(payer, await payer.open(location ?? ''))
    const { data } = (await api.get(`/api/v1/payment-links/${link.uuid}/payments`)).body
    assert.equal(data[0].paymentMethod.consent.source, 'payment_link')
  })

  it('is given by the simulated customer of the sandbox', async () => {
    const { api } = await service.newMerchant()
    assert.equal((await payWith(api, 'card_success')).paymentMethod.consent.source, 'sandbox')
  })

  it('rejects an unknown way to ask', async () => {
    const { uuid } = await service.newMerchant()
    const answer = await service.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
      body: JSON.stringify({ settings: { savedMethods: 'never' } }),
      headers: { 'content-type': 'application/json' },
    })
    assertApiError(answer, 'validation_failed')
    assert.match(answer.body.error.details[0].message, /always_tell, ask_with_checkbox, only_when_recurring/)
  })
})
