// Payers who are sent to the provider's page, in a real browser: from our page to the provider's and back, with each end,
// in every language, with and without JavaScript, on the narrowest phone.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import type { Api } from '../support/api.ts'
import { attemptOf } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import type { OpenedCheckout, Rig } from './payers.ts'

/** What the payer does on the provider's page. */
export interface RedirectEnd {
  title: string
  act(key: string): void | Promise<void>
  /** The payment afterwards: pending if the payer can try again. */
  status: 'successful' | 'pending' | 'processing'
}

interface RedirectSubject {
  /** The provider's name as payers know it. */
  title: string
  origin: string
  rig: Rig
  api: Api
  changes: Record<string, unknown>
  /** To which address the provider's page with this URL sends the payer back. */
  backUrlOf(url: URL): string
  executions(key: string): number | Promise<number>
  paid: RedirectEnd
  failures: readonly RedirectEnd[]
  left: RedirectEnd
}

export function testRedirects(subject: RedirectSubject): void {
  const { title, paid, failures, left, executions } = subject
  const cases = LANGUAGE_CODES.flatMap((language, index) =>
    [paid, ...failures, left].map((end, place) => ({
      language,
      end,
      javaScript: (index + place) % 2 === 0,
    })),
  )
  describe(`the payer of ${title}`, () => {
    for (const { language, end, javaScript } of cases)
      it(`the payer of ${title} ${end.title} in ${language}, ${javaScript ? 'with' : 'without'} JavaScript`, async (t) => {
        const checkout = await openCheckout(t, subject, language, javaScript)
        const key = await payThere(checkout, subject, end)
        await assertScreen(checkout, language, end)
        assert.equal(await executions(key), end === paid ? 1 : 0)
      })
  })
}

/** The provider's page, whose only link goes back to us. */
async function servePage(page: Page, { title, origin, backUrlOf }: RedirectSubject): Promise<void> {
  await page.context().route(`${origin}/**`, async (route) => {
    const back = backUrlOf(new URL(route.request().url())).replaceAll('&', '&amp;')
    const head = `<!doctype html><link rel="icon" href="data:,"><title>${title}</title>`
    await route.fulfill({ contentType: 'text/html', body: `${head}<a href="${back}">Back</a>` })
  })
}

async function openCheckout(
  t: { after(end: () => unknown): void },
  subject: RedirectSubject,
  language: Language,
  javaScript: boolean,
) {
  const { rig, api, changes, origin } = subject
  const origins = [rig.service.url, rig.shop, origin]
  const checkout = await rig.open(t, { api, changes, javaScript, width: 320, locale: language, origins })
  await servePage(checkout.page, subject)
  return checkout
}

async function payThere(
  { page, read }: OpenedCheckout,
  { title, origin, rig: { service } }: RedirectSubject,
  end: RedirectEnd,
): Promise<string> {
  assert.ok((await page.locator('main').innerText()).includes(title))
  await page.locator('form[action$="/attempts"] button').first().click()
  await page.waitForURL(`${origin}/**`)
  const { key } = await attemptOf(service.db, (await read()).uuid)
  await end.act(key)
  await page.getByRole('link', { name: 'Back' }).click()
  await page.waitForURL(`${service.url}/pay/**`)
  return key
}

async function assertScreen(
  { page, read }: OpenedCheckout,
  language: Language,
  { status }: RedirectEnd,
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
