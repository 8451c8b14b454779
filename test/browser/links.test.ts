// The page of a payment link in a real browser: every screen for layout, touch targets and screen readers, on the
// narrowest phone, in light and dark; and the flow from link to receipt by keyboard, with and without JavaScript.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import { fillIn, makeLink, payAt } from '../support/links.ts'
import { createPayer } from '../support/payer.ts'
import { testService } from '../support/service.ts'
import { BRAND, brandedMerchant } from './brand.ts'
import { newVisitor, startBrowser } from './browser.ts'
import { createPagePool } from './page-pool.ts'

const POOL_SIZE = 2
const DESK = { width: 1280, height: 800 }

const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0' } })
const api = await brandedMerchant(service)
const browser = await startBrowser({ after })
const withPage = await createPagePool({ after }, browser, POOL_SIZE)

const BOOKS = { title: 'Kamusi ya Kiswahili', description: 'Nakala mbili.\nJumamosi saa nne.' }
const OPEN = { ...BOOKS, amount: null, minAmount: 100, maxAmount: 50_000 }

/** One link, or a checkout of one, for every screen. */
async function prepareScreens(): Promise<Record<string, string>> {
  const [fixed, chosen, full, off, single] = [
    await makeLink(api, BOOKS),
    await makeLink(api, OPEN),
    await makeLink(api, { ...BOOKS, maxPayments: 1 }),
    await makeLink(api, BOOKS),
    await makeLink(api, { ...BOOKS, usage: 'single' }),
  ]
  await api.post(`/api/v1/payment-links/${off.uuid}/deactivate`, {})
  const waiting = async (url: string) => {
    const payer = createPayer()
    return (await fillIn(payer, await payer.open(url))).location ?? ''
  }
  const [busyCheckout, endedCheckout] = [await waiting(single.url), await waiting(full.url)]
  await payAt({ api }, full, 'card_success')
  await payAt({ api }, single, null)
  return {
    'an amount that is fixed': fixed.url,
    'an amount that the payer chooses': chosen.url,
    'all wrong': `${chosen.url}?problem=amountLow.firstname.lastnameCard.email`,
    'a payer whom the merchant refuses': `${fixed.url}?problem=refused`,
    'paid already': full.url,
    'switched off': off.url,
    'another payer is paying': single.url,
    'a checkout while another payer is paying': busyCheckout,
    'a checkout whose link is full': endedCheckout,
    'no such link': `${service.url}/l/nothing`,
  }
}

const PREPARED = await prepareScreens()
// The form is checked in every language; the closing screens share a layout that other tests check in all languages.
const FORMS = new Set([
  'an amount that the payer chooses',
  'all wrong',
  'a checkout while another payer is paying',
])
const FEW: readonly Language[] = ['en', 'ar', 'am']

describe('the accessibility of a link’s page', { concurrency: POOL_SIZE }, () => {
  for (const [name, url] of Object.entries(PREPARED)) {
    const languages = FORMS.has(name) ? LANGUAGE_CODES : FEW
    it(`has an accessible link page with ${name}, in ${languages.join(', ')}`, async () => {
      const problems: string[] = []
      for (const language of languages) {
        const seen = await withPage(async ({ page, evaluate, visit }) => {
          await visit(url, language)
          const { problems: found } = await evaluate<{ problems: string[] }>('everything()')
          await page.emulateMedia({ colorScheme: 'dark' })
          if (language === 'en' || language === 'ar') await page.setViewportSize(DESK)
          found.push(...(await evaluate(`broken(['color-contrast', 'link-in-text-block'])`)))
          return found
        })
        problems.push(...seen.map((problem) => `${language}: ${problem}`))
      }
      assert.deepEqual(problems, [])
    })
  }
})

const focused = (page: Page, attribute: string) => page.locator(':focus').getAttribute(attribute)

/** Presses Tab until the field has the focus, and types. */
async function typeInto(page: Page, name: string, text: string): Promise<void> {
  for (let stops = 0; stops < 20; stops += 1) {
    await page.keyboard.press('Tab')
    if ((await focused(page, 'name')) === name) break
  }
  assert.equal(await focused(page, 'name'), name)
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type(text)
}

describe('a payment link by keyboard', { concurrency: POOL_SIZE }, () => {
  for (const javaScript of [true, false]) {
    it(`corrects an error and pays at a link by keyboard, ${javaScript ? 'with' : 'without'} JavaScript`, async (t) => {
      const link = await makeLink(api, OPEN)
      const { page, problems } = await newVisitor(t, browser, {
        javaScript,
        width: 320,
        origins: [service.url],
      })
      await page.goto(link.url)
      await page.getByRole('heading', { name: `Pay ${BRAND.displayName}`, level: 1 }).waitFor()
      await typeInto(page, 'amount', '50')
      await typeInto(page, 'firstname', 'Amina')
      await typeInto(page, 'email', 'amina@example.com')
      await page.keyboard.press('Enter')
      const alert = page.getByRole('alert')
      await alert.waitFor()
      assert.equal(await focused(page, 'role'), 'alert', 'the focus is on the summary')
      assert.deepEqual(await alert.getByRole('link').allTextContents(), [
        'Enter KSh\u00a0100 or more.',
        'Enter your last name.',
      ])
      assert.equal(await page.getByLabel('E-mail', { exact: true }).inputValue(), 'amina@example.com')
      await alert.getByRole('link').first().press('Enter')
      await page.keyboard.press('Shift+Tab')
      await typeInto(page, 'amount', '1.250,50')
      await typeInto(page, 'lastname', 'Odhiambo')
      await page.keyboard.press('Enter')
      await page
        .getByRole('heading', { name: `Pay KSh\u00a01,250.50 to ${BRAND.displayName}`, level: 1 })
        .waitFor()
      await page.getByText('Kamusi ya Kiswahili').waitFor()
      assert.deepEqual(problems, [])
    })
  }

  it('opens the waiting checkout without a reload when the other payer did not pay', async (t) => {
    const link = await makeLink(api, { ...BOOKS, usage: 'single' })
    const payer = createPayer()
    const checkout = (await fillIn(payer, await payer.open(link.url))).location ?? ''
    const { reference } = await payAt({ api }, link, null)
    const { page, problems } = await newVisitor(t, browser, { width: 320, origins: [service.url] })
    await page.goto(checkout)
    await page.getByRole('heading', { name: 'Somebody is paying at this moment' }).waitFor()
    await api.post(`/api/v1/sandbox/payments/${reference}/complete`, { instrument: 'card_declined' })
    await page.getByRole('heading', { name: /^Pay KSh/ }).waitFor()
    assert.deepEqual(problems, [])
  })
})
