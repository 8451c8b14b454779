// A payer of Wave in a real browser: from our page to Wave's and back, with each end, in every language, with and without
// JavaScript, on the narrowest phone.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import type { CheckoutEnding } from '../gateways/conformance.ts'
import { startFakeWave } from '../gateways/wave/fake.ts'
import { attemptOf, fileContext } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { addressOf, newMerchantAt, PROVIDERS } from '../support/providers.ts'
import { type OpenedCheckout, startRig } from './payers.ts'

const WAVE_ORIGIN = 'https://pay.wave.com'

const fake = await startFakeWave(fileContext({ after }))
const { open, service, shop } = await startRig({ after }, { env: addressOf('wave', fake) })
const { api } = await newMerchantAt(service, 'wave')

interface End {
  title: string
  ending: CheckoutEnding | null
  status: string
}

const PAID: End = { title: 'has paid', ending: { kind: 'pays' }, status: 'successful' }
const FAILURES: readonly End[] = [
  ...[
    'insufficient-funds',
    'blocked-account',
    'kyb-limits-exceeded',
    'payment-failure',
    'cancelled',
    'expired',
  ],
].map((how) => ({ title: `fails with ${how}`, ending: { kind: 'declines', how }, status: 'pending' }))
const LEFT: End = { title: 'left without a payment', ending: null, status: 'processing' }

/** Wave's page, whose only link goes back to us. */
async function serveWave(page: Page): Promise<void> {
  await page.context().route(`${WAVE_ORIGIN}/**`, async (route) => {
    const id = new URL(route.request().url()).pathname.replace('/c/', '')
    const back = fake.findSession(id)?.success_url ?? ''
    const body = `<!doctype html><link rel="icon" href="data:,"><title>Wave</title><a href="${back}">Back</a>`
    await route.fulfill({ contentType: 'text/html', body })
  })
}

async function openCheckout(t: { after(end: () => unknown): void }, language: Language, javaScript: boolean) {
  const origins = [service.url, shop, WAVE_ORIGIN]
  const changes = PROVIDERS.wave.paymentTerms
  const checkout = await open(t, { api, changes, javaScript, width: 320, locale: language, origins })
  await serveWave(checkout.page)
  return checkout
}

async function payAtWave({ page, read }: OpenedCheckout, ending: CheckoutEnding | null): Promise<string> {
  assert.match(await page.locator('main').innerText(), /Wave/)
  await page.locator('form[action$="/attempts"] button').first().click()
  await page.waitForURL(`${WAVE_ORIGIN}/**`)
  const { key } = await attemptOf(service.db, (await read()).uuid)
  if (ending) await fake.finish(key, ending)
  await page.getByRole('link', { name: 'Back' }).click()
  await page.waitForURL(`${service.url}/pay/**`)
  return key
}

async function assertScreen(
  { page, read }: OpenedCheckout,
  language: Language,
  { status }: End,
): Promise<void> {
  await eventually(read, (payment) => payment.status === status, 20_000)
  await page.reload()
  assert.equal(await page.locator('html').getAttribute('lang'), language)
  assert.notEqual((await page.locator('h1').innerText()).trim(), '')
  const hasAlert = (await page.getByRole('alert').count()) > 0
  assert.equal(hasAlert, status === 'pending', 'a failure is explained, and the payer can try again')
  const width = await page.locator('html').evaluate((root) => root.scrollWidth)
  assert.ok(width <= 320, `the page is ${width} pixels wide`)
}

const CASES = LANGUAGE_CODES.flatMap((language, index) => {
  const ends = language === 'en' ? [...FAILURES, LEFT] : [FAILURES[index % FAILURES.length] ?? LEFT]
  return [PAID, ...ends].map((end, place) => ({ language, end, javaScript: (index + place) % 2 === 0 }))
})

describe('the payer of Wave', () => {
  for (const { language, end, javaScript } of CASES)
    it(`the payer of Wave ${end.title} in ${language}, ${javaScript ? 'with' : 'without'} JavaScript`, async (t) => {
      const checkout = await openCheckout(t, language, javaScript)
      const key = await payAtWave(checkout, end.ending)
      await assertScreen(checkout, language, end)
      assert.equal(fake.executions(key), end === PAID ? 1 : 0)
    })
})
