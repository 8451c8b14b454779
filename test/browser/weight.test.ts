// The size of the checkout for a first-time visitor: every response with its headers, in all languages, for a merchant
// with a logo of the maximum size that cannot be compressed.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it, type TestContext } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import { initiateBody } from '../support/builders.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { dataUriOf } from '../support/images.ts'
import { newPhone } from '../support/payer.ts'
import { sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'
import { brandedMerchant } from './brand.ts'
import { startBrowser } from './browser.ts'

const KILOBYTE = 1_024
const LIMITS = {
  // The initial TCP congestion window: the bytes that arrive before the first acknowledgement.
  firstView: 14 * KILOBYTE,
  html: 10 * KILOBYTE,
  script: 4 * KILOBYTE,
  flow: 40 * KILOBYTE,
}

// The larger form runs all languages.
const LANGUAGES = sized<readonly Language[]>({
  quick: ['en'],
  rest: LANGUAGE_CODES,
  long: LANGUAGE_CODES,
})

const clock = frozenClock()
const service = await testService({ after }, { clock, env: { COWRY_RATE_LIMIT: '0' } })
const browser = await startBrowser({ after })
const api = await brandedMerchant(service, dataUriOf(noisyPng(), 'image/png'))

/** A picture of noise, just below the maximum of 3 KB for a logo. */
function noisyPng(): Buffer {
  const [width, height] = [36, 27]
  const rows = Array.from({ length: height }, () => Buffer.concat([Buffer.of(0), randomBytes(width * 3)]))
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const ends = Buffer.alloc(8)
    ends.writeUInt32BE(data.length)
    ends.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const png = Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
  assert.ok(png.length > 3_000 && png.length <= 3_072, `${png.length}`)
  return png
}

interface Received {
  url: string
  bytes: number
}

interface MeasuredPage {
  language: Language
  page: Page
  /** All responses so far, in order of completion. */
  received: Received[]
}

/** A new browser, and everything that it receives. */
async function openMeasuredPage(t: TestContext, language: Language): Promise<MeasuredPage> {
  const context = await browser.newContext({ locale: language, viewport: { width: 390, height: 844 } })
  context.setDefaultTimeout(30_000)
  const unexpected: string[] = []
  context.on('console', (message) => unexpected.push(message.text()))
  context.on('weberror', (error) => unexpected.push(String(error.error())))
  context.on('request', (request) => {
    if (new URL(request.url()).origin !== service.url) unexpected.push(request.url())
  })
  t.after(async () => {
    await context.close()
    assert.deepEqual(unexpected, [], 'no console message, and no request to another server')
  })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  const addresses = new Map<string, string>()
  const received: Received[] = []
  session.on('Network.requestWillBeSent', ({ requestId, request, redirectResponse }) => {
    addresses.set(requestId, request.url)
    if (redirectResponse)
      received.push({ url: redirectResponse.url, bytes: redirectResponse.encodedDataLength })
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    received.push({ url: addresses.get(requestId) ?? '', bytes: encodedDataLength })
  })
  return { language, page, received }
}

async function newCheckout(changes: Record<string, unknown> = {}): Promise<string> {
  const body = initiateBody({ description: 'Kamusi ya Kiswahili, 2', ...changes })
  const made = await api.post('/api/v1/checkout/initiate-payment', body)
  assert.equal(made.http, 201, made.text)
  return made.body.data.checkoutUrl
}

const sum = (received: readonly Received[]) => received.reduce((total, { bytes }) => total + bytes, 0)
const bytesOf = (received: readonly Received[], part: string) =>
  sum(received.filter(({ url }) => url.includes(part)))

const press = (page: Page, action: string) => page.locator(`form[action$="${action}"] button:visible`).click()

/** From the open checkout to the waiting page: three screens. */
const FLOWS: Record<'phone' | 'transfer', (page: Page) => Promise<void>> = {
  async phone(page) {
    await page.goto(await newCheckout())
    await page.locator('#way-mobile_money').check()
    await press(page, '/attempts')
    await page.getByRole('alert').waitFor()
    await page.locator('#phone').fill(newPhone())
    await press(page, '/attempts')
    await page.locator('.steps').waitFor()
  },
  async transfer(page) {
    await page.goto(await newCheckout({ currency: 'NGN', amount: 5_000 }))
    await page.locator('#way-bank_transfer').check()
    await press(page, '/attempts')
    await page.locator('.account').waitFor()
    await press(page, '/sent')
    await page.locator('details .account').waitFor({ state: 'attached' })
  },
}

/** The last two: the page detects the payment, and the payer opens the receipt. */
async function receivePayment(page: Page): Promise<void> {
  await page.locator('a[href$="/receipt"]').click()
  await page.locator('[data-print]').waitFor()
}

describe('the size of the first view', () => {
  for (const language of LANGUAGES) {
    it(`fits the first view with logo and script into the initial TCP window in ${language}`, async (t) => {
      const { page, received } = await openMeasuredPage(t, language)
      await page.goto(await newCheckout(), { waitUntil: 'networkidle' })
      const [html, script, logo] = ['/pay/', '.js', '/logos/'].map((part) => bytesOf(received, part))
      const all = sum(received)
      t.diagnostic(`first view in ${language}: ${all} bytes = HTML ${html} + script ${script} + logo ${logo}`)
      assert.equal(received.length, 3, JSON.stringify(received))
      assert.equal(await page.locator('html').getAttribute('lang'), language)
      assert.ok(html && html <= LIMITS.html, `${html} of HTML`)
      assert.ok(script && script <= LIMITS.script, `${script} of script`)
      assert.ok(logo && logo > 3_000, `${logo} of logo`)
      assert.ok(all <= LIMITS.firstView, `${all}`)
    })
  }
})

for (const [name, runFlow] of Object.entries(FLOWS)) {
  it(`limits the size of five screens for a payer by ${name}, in every language`, async (t) => {
    const measuredPages = await Promise.all(LANGUAGE_CODES.map((language) => openMeasuredPage(t, language)))
    await Promise.all(measuredPages.map(({ page }) => runFlow(page)))
    // The payment arrives two seconds after the start, for all of them at once.
    clock.advance(3_000)
    await Promise.all(measuredPages.map(({ page }) => receivePayment(page)))
    for (const { language, received } of measuredPages) {
      const polls = received.filter(({ url }) => url.endsWith('/status'))
      const all = sum(received)
      t.diagnostic(
        `by ${name} in ${language}: ${all} bytes, ${sum(polls)} of them for ${polls.length} status polls`,
      )
      assert.ok(polls.length > 0, 'the page polls')
      assert.ok(all <= LIMITS.flow, `${all}`)
    }
  })
}
