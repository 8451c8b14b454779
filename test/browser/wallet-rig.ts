// Payers of the wallets in a real browser, with one service and the fakes of all providers.

import assert from 'node:assert/strict'
import type { after, TestContext } from 'node:test'
import type { Page, Response } from 'playwright-core'
import type { Language } from '../../src/core/languages.ts'
import { type Translator, translatorFor } from '../../src/pages/translator.ts'
import type { CheckoutEnding, FakeProvider } from '../gateways/conformance.ts'
import { initiateBody } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { type AttemptFacts, attemptOf, fileContext, readPayment } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser } from './browser.ts'
import { WALLETS, type Wallet } from './wallets.ts'

/** The page of the wallet, which the browser never really opens. */
export const WALLET_SITE = 'https://pay.wave.com'

export interface OpenedWallet {
  page: Page
  /** Another tab of the same payer. */
  newTab(): Promise<Page>
  translator: Translator
  provider: FakeProvider
  /** As the payer types it; undefined if the page does not ask. */
  phone: string | undefined
  /** Fills in the form. */
  fill(page: Page): Promise<void>
  /** Submits the form. */
  press(page: Page): Promise<void>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  payment(): Promise<any>
  attempt(): Promise<AttemptFacts>
  /** How many requests to prompt this payer the provider has got. */
  submissions(): number
  /** The payer does this on the phone, at the bank or on the wallet's page, and looks at our page again. */
  finish(ending: CheckoutEnding): Promise<void>
  /** The bytes of each of our responses so far, with headers. */
  sizes(): Promise<number[]>
  problems: string[]
}

const WIDTH = 320
const WITHIN_MS = 30_000

export async function startWalletRig(hooks: { after: typeof after }) {
  const context = fileContext(hooks)
  const fakes = new Map<string, FakeProvider>()
  for (const { gateway, start } of Object.values(WALLETS))
    if (!fakes.has(gateway)) fakes.set(gateway, await start(context))
  const env = Object.fromEntries(
    [...fakes].map(([name, { server }]) => [`GATEWAY_${name.toUpperCase()}_BASE_URL`, server.url]),
  )
  const clock = tickingClock()
  const service = await testService(hooks, { clock, env: { ...env, COWRY_RATE_LIMIT: '0' } })
  const browser = await startBrowser(hooks)
  const merchants = new Map<string, Awaited<ReturnType<typeof service.newMerchant>>>()

  const merchantAt = async ({ gateway, credentials }: Wallet) => {
    const known = merchants.get(gateway)
    if (known) return known
    const merchant = await service.newMerchant()
    const saved = await service.admin.send(
      'PUT',
      `/admin/v1/merchants/${merchant.uuid}/gateways/${gateway}`,
      {
        body: JSON.stringify({ credentials }),
        headers: { 'content-type': 'application/json' },
      },
    )
    assert.equal(saved.body.data?.probe, 'works', saved.text)
    merchants.set(gateway, merchant)
    return merchant
  }

  const open = async (t: TestContext, wallet: Wallet, language: Language): Promise<OpenedWallet> => {
    const { api } = await merchantAt(wallet)
    const provider = fakes.get(wallet.gateway)
    assert.ok(provider)
    const made = await api.post('/api/v1/checkout/initiate-payment', initiateBody(wallet.terms))
    assert.equal(made.http, 201, made.text)
    const { uuid, checkoutUrl, paymentGateway } = made.body.data
    assert.equal(paymentGateway, wallet.gateway)
    const origins = [service.url, WALLET_SITE]
    const visitor = await newVisitor(t, browser, { javaScript: false, width: WIDTH, origins })
    const { page, newTab, problems } = visitor
    const received: Response[] = []
    page.on('response', (response) => {
      if (response.url().startsWith(service.url)) received.push(response)
    })
    await page
      .context()
      .route(`${WALLET_SITE}/**`, (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Wave</title><h1>Wave</h1>' }),
      )
    const phone = phoneOf(wallet)
    const before = countOf(provider, wallet)
    const attempt = () => attemptOf(service.db, uuid)
    await page.goto(`${checkoutUrl}?lang=${language}`)

    return {
      page,
      newTab,
      problems,
      translator: translatorFor(language, wallet.terms.country),
      provider,
      phone,
      async fill(tab) {
        const way = tab.locator(`#way-${wallet.channel}`)
        if (await way.isVisible()) await way.check()
        if (wallet.network !== undefined) await tab.locator(`[value=${wallet.network}]`).check()
        if (phone !== undefined) await tab.locator('#phone').fill(phone)
      },
      press: (tab) => tab.locator('form[action$="/attempts"] button.main:visible').click(),
      payment: () => readPayment(api, uuid),
      attempt,
      submissions: () => countOf(provider, wallet) - before,
      async finish(ending) {
        await provider.finish((await attempt()).key, ending)
        const check = page.locator('form[action$="/check"] button')
        if (wallet.step === 'page') await page.goto(`${checkoutUrl}/return`)
        else await check.click()
        // The background work may be asking the provider at this moment.
        await eventually(
          async () => ((await check.count()) > 0 ? page.reload() : null),
          (reloaded) => reloaded === null,
          WITHIN_MS,
        )
      },
      sizes: () => Promise.all(received.map(sizeOf)),
    }
  }
  return { service, clock, open }
}

let numbers = 0

function phoneOf({ phone }: Wallet): string | undefined {
  if (phone === undefined) return undefined
  const [start, digits] = phone
  numbers += 1
  return `${start}${String(numbers).padStart(digits, '1')}`
}

const countOf = ({ server }: FakeProvider, { submission }: Wallet) =>
  server.requests.filter(({ method, path }) => submission.test(`${method} ${path}`)).length

async function sizeOf(response: Response): Promise<number> {
  const { responseBodySize, responseHeadersSize } = await response.request().sizes()
  return responseBodySize + responseHeadersSize
}
