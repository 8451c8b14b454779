// The language of the checkout, and the persistence of a choice: in the flow, after a reload, and in the next checkout.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { LANGUAGE_CODES, LANGUAGES, type Language } from '../../src/core/languages.ts'
import { translate } from '../../src/pages/locales.ts'
import { CUSTOMER, saveMethod as savedByPaying } from '../support/builders.ts'
import { newPhone } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { newVisitor } from './browser.ts'
import { choose, clickButton, labelOf, PAY, payWith, startRig, waitForHeading } from './payers.ts'

const { open, service, shop, browser } = await startRig({ after })

const languageOf = (page: Page) => page.locator('html').getAttribute('lang')

const switchTo = (page: Page, language: Language) =>
  page.getByRole('navigation').getByRole('link', { name: LANGUAGES[language].name, exact: true }).click()

async function merchantSpeaking(locale: Language) {
  const { uuid, api } = await service.newMerchant()
  const answer = await service.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
    body: JSON.stringify({ settings: { locale } }),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(answer.http, 200, answer.text)
  return api
}

const IN_IVORY_COAST = { currency: 'XOF', country: 'CI', amount: 5_000 }

describe('the language of a checkout', { concurrency: 5 }, () => {
  it('uses the language of the country when the browser accepts none of ours', async (t) => {
    const { page } = await open(t, { locale: 'de-DE', changes: IN_IVORY_COAST })
    assert.equal(await languageOf(page), 'fr')
    const { page: kenyan } = await open(t, { locale: 'de-DE' })
    assert.equal(await languageOf(kenyan), 'en')
  })

  it('prefers the browser’s language to that of the country', async (t) => {
    const { page } = await open(t, { locale: 'pt-MZ', changes: IN_IVORY_COAST })
    assert.equal(await languageOf(page), 'pt')
  })

  it('prefers the switcher, then the merchant’s language, then the payer’s last choice, then the browser’s', async (t) => {
    const first = await open(t, { locale: 'pt-MZ', changes: IN_IVORY_COAST })
    const { page } = first
    await switchTo(page, 'sw')
    assert.equal(await languageOf(page), 'sw')

    // The same browser, with another checkout of this merchant and one of a merchant with Arabic.
    const next = await open(t)
    await page.goto(next.checkoutUrl)
    assert.equal(await languageOf(page), 'sw')
    const arabic = await open(t, { api: await merchantSpeaking('ar') })
    assert.equal(await languageOf(arabic.page), 'ar')
    await page.goto(arabic.checkoutUrl)
    assert.equal(await languageOf(page), 'ar')
    assert.equal(await page.locator('html').getAttribute('dir'), 'rtl')

    await switchTo(page, 'en')
    await page.goto(arabic.checkoutUrl)
    assert.equal(await languageOf(page), 'en', 'the choice on this page')
    await page.goto(first.checkoutUrl)
    assert.equal(await languageOf(page), 'sw', 'the choice on that page')
  })

  it('offers every language under its own name, and each one works', async (t) => {
    const { page } = await open(t)
    for (const language of LANGUAGE_CODES) {
      await switchTo(page, language)
      const { direction, name } = LANGUAGES[language]
      assert.equal(await languageOf(page), language)
      assert.equal(await page.locator('html').getAttribute('dir'), direction)
      assert.equal(await page.locator('nav [aria-current]').innerText(), name)
      assert.equal(await page.getByText(translate(language, 'howToPay')).isVisible(), true)
      // Digits are the same in every language, so that they match the prompt on the phone.
      assert.match((await page.locator('h1').innerText()).replaceAll(/[\s.,]/g, ''), /125050/)
    }
  })

  it('ignores an unknown language in the address', async (t) => {
    const { page, checkoutUrl } = await open(t)
    for (const requested of ['xx', '__proto__', 'constructor', '<script>', 'fr%0d%0aSet-Cookie:%20x=1', '']) {
      await page
        .goto(`${checkoutUrl}?lang=${requested}`)
        .catch((error) => assert.fail(`${requested}: ${error}`))
      assert.equal(await languageOf(page), 'en', requested)
    }
    const names = (await page.context().cookies()).map(({ name }) => name)
    assert.deepEqual(names, ['cowry_zone'], 'only the time zone of the device')
  })

  it('translates the page of an unknown address too', async (t) => {
    const { page, problems } = await newVisitor(t, browser, { locale: 'fr-CI', origins: [service.url] })
    const answer = await page.goto(`${service.url}/pay/nothing`)
    assert.equal(answer?.status(), 404)
    await waitForHeading(page, translate('fr', 'notFoundTitle'))
    await switchTo(page, 'ar')
    await waitForHeading(page, translate('ar', 'notFoundTitle'))
    // The browser logs the 404 to its console, and nothing else.
    for (const problem of problems) assert.match(problem, /status of 404/)
  })
})

for (const javaScript of [true, false]) {
  describe(`a payer who chose Swahili, ${javaScript ? 'with' : 'without'} JavaScript`, {
    concurrency: 5,
  }, () => {
    const inSwahili = (page: Page, id: Parameters<typeof translate>[1], values?: Record<string, string>) =>
      waitForHeading(page, translate('sw', id, values))

    async function openInSwahili(t: Parameters<typeof open>[0]) {
      const checkout = await open(t, { javaScript, locale: 'fr-FR' })
      await switchTo(checkout.page, 'sw')
      assert.equal(await languageOf(checkout.page), 'sw')
      return checkout
    }

    it('keeps the language from the form to the receipt, over a reload and an error', async (t) => {
      const { page, checkoutUrl, read } = await openInSwahili(t)
      await page.reload()
      assert.equal(await languageOf(page), 'sw')
      await clickButton(page, translate('sw', 'payButton', { amount: 'KSh\u00a01,250.50' }))
      await page.getByRole('alert').getByText(translate('sw', 'problemPhoneMissing')).waitFor()
      await page.locator('#phone').fill(newPhone())
      await clickButton(page, translate('sw', 'payButton', { amount: 'KSh\u00a01,250.50' }))
      await inSwahili(page, 'promptTitle')
      // The script shows the result by itself, and then the button is gone.
      if (!javaScript) {
        await eventually(read, ({ status }) => status === 'successful', 10_000)
        await clickButton(page, translate('sw', 'checkNow'))
      }
      await inSwahili(page, 'paidTitle')
      await page.getByRole('link', { name: translate('sw', 'stay') }).click()
      await inSwahili(page, 'receipt')
      assert.equal(page.url(), `${checkoutUrl}/receipt`)
      await switchTo(page, 'pt')
      await waitForHeading(page, translate('pt', 'receipt'))
      assert.ok(page.url().startsWith(`${checkoutUrl}/receipt?`), 'the switcher stays on the receipt')
    })

    it('keeps the language after the pages of the gateway', async (t) => {
      const { page } = await openInSwahili(t)
      await page.locator('#way-card').check()
      await clickButton(page, translate('sw', 'payButton', { amount: 'KSh\u00a01,250.50' }))
      await page.getByText('Choose a test card').waitFor()
      await page.getByRole('radio', { name: labelOf('card_success'), exact: true }).check()
      await clickButton(page, /^Pay (KES|KSh)/)
      await inSwahili(page, 'paidTitle')
    })

    it('switches the language on an error and on a reported transfer without losing either', async (t) => {
      const { page } = await open(t, { javaScript })
      await choose(page, 'mobile_success', '0712')
      await clickButton(page, /^Pay (KES|KSh)/)
      await page.getByRole('alert').waitFor()
      await switchTo(page, 'sw')
      await page
        .getByRole('alert')
        .getByText(translate('sw', 'problemPhoneShort', { example: '0712 123 456' }))
        .waitFor()
      assert.equal(await page.locator('#phone').inputValue(), '0712')
      await switchTo(page, 'en')
      await choose(page, 'transfer_success')
      await clickButton(page, /^Pay (KES|KSh)/)
      await clickButton(page, 'I have sent the money')
      await waitForHeading(page, /We are looking for your transfer|Paid/)
      await switchTo(page, 'sw')
      const titles = [translate('sw', 'lookingTitle'), translate('sw', 'paidTitle')]
      assert.ok(titles.includes(await page.locator('h1').innerText()))
    })
  })
}

it('returns to the shop from every language', async (t) => {
  const { page, returnUrlWith } = await open(t, { locale: 'ar-EG' })
  await clickButton(page, translate('ar', 'cancelAndReturn'))
  await page.waitForURL(`${shop}/**`)
  assert.equal(page.url(), returnUrlWith('cancelled'))
})

describe('the consent to a saved card in a browser', { concurrency: 5 }, () => {
  for (const language of LANGUAGE_CODES)
    it(`shows before paying in ${language} that the card is saved, and stores the consent`, async (t) => {
      // The same card of one customer is one saved method, which has the latest consent.
      const customer = { ...CUSTOMER, email: `${language}@example.com` }
      const { page, checkoutUrl, read } = await open(t, { changes: { customer } })
      await page.goto(`${checkoutUrl}?lang=${language}`)
      await page.locator('label[for="way-card"]').click()
      const notice = translate(language, 'saveNotice', { merchant: 'Demo Shop' })
      await page.getByText(notice).waitFor()
      await page.locator('button.main').filter({ visible: true }).click()
      await page.getByRole('radio', { name: labelOf('card_success'), exact: true }).check()
      await clickButton(page, PAY)
      const paid = await eventually(read, ({ status }) => status === 'successful', 20_000)
      assert.deepEqual(
        [paid.paymentMethod.consent.language, paid.paymentMethod.consent.form],
        [language, 'notice'],
      )
    })
})

describe('a saved method in a browser', { concurrency: 5 }, () => {
  for (const language of LANGUAGE_CODES)
    it(`is first on the page of a returning payer in ${language}, and pays with one press`, async (t) => {
      const customer = { ...CUSTOMER, email: `returning-${language}@example.com` }
      await savedByPaying(service.api, 'card_success', { customer })
      const changes = { customer, offerSavedMethods: true }
      const { page, checkoutUrl, read, executions } = await open(t, {
        ...{ changes, width: 320, javaScript: language !== 'en' },
      })
      await page.goto(`${checkoutUrl}?lang=${language}`)
      const saved = page.getByRole('radio', { name: 'Visa •••• 4242' })
      assert.equal(await saved.isChecked(), true)
      await page.getByText(translate(language, 'savedMethodHint', { merchant: 'Demo Shop' })).waitFor()
      // The other ways are one press away, and the payer can return to the saved method.
      assert.equal(await page.locator('#way-card').isVisible(), false)
      await page.getByText(translate(language, 'anotherWay'), { exact: true }).click()
      await page.locator('#way-card').check()
      assert.equal(await page.locator('button.main').filter({ visible: true }).count(), 1)
      await saved.check()
      const overflow =
        '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.documentElement)'
      assert.equal(await page.evaluate(overflow), 0)
      await page.locator('button.main').filter({ visible: true }).click()
      await waitForHeading(page, translate(language, 'paidTitle'))
      assert.deepEqual([(await read()).status, await executions()], ['successful', 1])
    })
})

it('lets a payer who has cancelled come back and pay', async (t) => {
  const { page, checkoutUrl, read, returnUrlWith } = await open(t)
  await clickButton(page, 'Cancel and return')
  await page.waitForURL(`${shop}/**`)
  assert.equal(page.url(), returnUrlWith('cancelled'))
  await page.goto(checkoutUrl)
  await waitForHeading(page, 'Payment cancelled')
  await clickButton(page, 'Pay after all')
  await waitForHeading(page, PAY)
  await payWith(page, 'card_success')
  await page.waitForURL(`${shop}/**`)
  assert.equal(page.url(), returnUrlWith('successful'))
  assert.equal((await read()).status, 'successful')
})
