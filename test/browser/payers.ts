// Payers in a real browser with the service, the shop and the provider: actions and assertions.

import assert from 'node:assert/strict'
import type { Browser, Locator, Page } from 'playwright-core'
import { SANDBOX_INSTRUMENTS } from '../../src/gateways/sandbox/index.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Api } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import type { Cleanup } from '../support/database.ts'
import { newPhone } from '../support/payer.ts'
import { type TestService, testService } from '../support/service.ts'
import { newVisitor, startBrowser, startShop, type Visitor, type VisitorOptions } from './browser.ts'

export interface OpenOptions extends Partial<VisitorOptions> {
  /** Fields of the merchant's request body. */
  changes?: Record<string, unknown>
  /** The key of another merchant. */
  api?: Api
}

export interface OpenedCheckout extends Visitor {
  reference: string
  checkoutUrl: string
  expiresAt: string
  /** The record that the merchant reads. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  read(): Promise<any>
  /** How often the provider collected. */
  executions(): Promise<number>
  /** The address to which the shop expects its payer with this status. */
  returnUrlWith(status: string): string
}

export interface Rig {
  service: TestService
  shop: string
  browser: Browser
  /** A new browser context for a payer. */
  visit(t: Cleanup, options?: Partial<VisitorOptions>): Promise<Visitor>
  /** A new payment, and its payer on the open page. */
  open(t: Cleanup, options?: OpenOptions): Promise<OpenedCheckout>
}

export async function startRig(
  t: Cleanup,
  options: { clock?: Clock; env?: Record<string, string> } = {},
): Promise<Rig> {
  const service = await testService(t, options)
  const shop = await startShop(t)
  const browser = await startBrowser(t)

  const visit: Rig['visit'] = async (ending, visitorOptions = {}) => {
    const visitor = await newVisitor(ending, browser, { origins: [service.url, shop], ...visitorOptions })
    ending.after(async () => {
      const wanted = 'no error in the console, no broken policy, no request to a stranger'
      assert.deepEqual(visitor.problems, [], wanted)
    })
    return visitor
  }
  const open: Rig['open'] = async (ending, { changes, api = service.api, ...visitorOptions } = {}) => {
    const body = initiateBody({ redirectUrl: `${shop}/back?cart=7#top`, ...changes })
    const initiated = await api.post('/api/v1/checkout/initiate-payment', body)
    assert.equal(initiated.http, 201, initiated.text)
    const { uuid, checkoutUrl, expiresAt, reference } = initiated.body.data
    const visitor = await visit(ending, visitorOptions)
    await visitor.page.goto(checkoutUrl)
    return {
      ...visitor,
      reference,
      checkoutUrl,
      expiresAt,
      read: async () => (await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data,
      executions: async () =>
        (await api.get(`/api/v1/sandbox/executions?reference=${encodeURIComponent(reference)}`)).body.data
          .length,
      returnUrlWith: (status) =>
        `${shop}/back?cart=7&reference=${encodeURIComponent(reference)}&status=${status}#top`,
    }
  }
  return { service, shop, browser, visit, open }
}

export const waitForHeading = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('heading', { name, level: 1 }).waitFor()

export const alertText = (page: Page): Promise<string> => page.getByRole('alert').innerText()

export const clickButton = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name }).click()

export const PAY = /^Pay (KES|KSh)/

/** The field of the selected method; the other fields are hidden. */
function shownField(page: Page, label: string): Locator {
  return page.getByLabel(label).filter({ visible: true })
}

/** Fills in the open checkout for a test instrument, without pressing Pay. */
export async function choose(page: Page, instrument: string, phone = newPhone()): Promise<void> {
  const channel = SANDBOX_INSTRUMENTS.find(({ name }) => name === instrument)?.channel ?? 'card'
  const way = { card: 'Card', mobile_money: 'Mobile money', bank_transfer: 'Bank transfer' }[channel]
  await page.getByRole('radio', { name: new RegExp(`^${way}`) }).check()
  if (channel === 'mobile_money') await shownField(page, 'Mobile money number').fill(phone)
  if (channel !== 'card') await shownField(page, 'Test mode: what should happen?').selectOption(instrument)
}

/** From the open checkout through the gateway's page, if there is one, to the next screen. */
export async function payWith(page: Page, instrument: string, phone?: string): Promise<void> {
  await choose(page, instrument, phone)
  await clickButton(page, PAY)
  if (!instrument.startsWith('card_')) return
  await page.getByText('Choose a test card').waitFor()
  await page.getByRole('radio', { name: labelOf(instrument), exact: true }).check()
  await clickButton(page, PAY)
  if (instrument === 'card_3ds') await clickButton(page, 'Approve')
}

export function labelOf(instrument: string): string {
  return SANDBOX_INSTRUMENTS.find(({ name }) => name === instrument)?.label ?? ''
}
