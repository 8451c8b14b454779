// Mobile money and transfers on our page with the connectors of all providers that offer them: to paid, and to every kind
// of failure that each provider reports, on the narrowest phone and without JavaScript. npm run test:rest runs it:
// test/api/gateway-prompts.test.ts and test/api/mobile-money.test.ts pay on the same pages over HTTP.

import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import { messagesOfDecline, onlyWayAdvice } from '../../src/pages/checkout/decline-messages.ts'
import { FORM } from '../support/scale.ts'
import { type OpenedWallet, startWalletRig, WALLET_SITE } from './wallet-rig.ts'
import { WALLETS, type Wallet } from './wallets.ts'

const { open, clock } = await startWalletRig({ after })

// Sizes of the compressed responses: of one page, and of all until the payment is made.
const KILOBYTE = 1_024
const SCREENS = 5
const LIMITS = { page: 10 * KILOBYTE, flow: 40 * KILOBYTE }
// The same number is prompted again after this time.
const COOLDOWN_MS = 21_000

/** Without the countdown. */
const shownText = async (page: Page): Promise<string> =>
  (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ').replaceAll(/ \d+:\d\d /g, ' ')

/** The sentence up to its first value. */
const startOf = (sentence: string): string => sentence.split(/[\s\u2068]*\{value\}/)[0] ?? ''

async function assertFits(page: Page): Promise<void> {
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  assert.equal(overflow, 0, 'nothing is wider than the screen')
}

/** What the payer sees while the provider waits for them. */
async function assertWaiting({ page, translator }: OpenedWallet, { step }: Wallet): Promise<void> {
  if (step === 'page') return page.waitForURL(`${WALLET_SITE}/**`)
  const text = await shownText(page)
  const title = step === 'prompt' ? translator.t('promptTitle') : translator.t('accountNumber')
  assert.ok(text.includes(title), text)
  await assertFits(page)
}

/** A press on a page that was opened before shows the state of the payment, also after a reload, and sends no second prompt. */
async function pressTwice(opened: OpenedWallet, wallet: Wallet): Promise<void> {
  const { page, newTab, fill, press, submissions } = opened
  const second = await newTab()
  await second.goto(page.url())
  await fill(page)
  await press(page)
  await assertWaiting(opened, wallet)
  await fill(second)
  await press(second)
  const text = await shownText(second)
  assert.ok(!text.includes(opened.translator.t('howToPay')), text)
  await second.reload()
  assert.equal(await shownText(second), text)
  assert.equal(submissions(), 1)
  await second.close()
}

async function assertDeclined(opened: OpenedWallet, wallet: Wallet, how: string): Promise<void> {
  const { page, translator, phone, payment } = opened
  const text = await shownText(page)
  const { reason, advice } = messagesOfDecline(wallet.channel, wallet.declines[how] ?? 'unknown')
  // Another way is advised only if the page has one.
  const hasOtherWay = (await page.locator('[name=channel], [name=network]').count()) > 1
  for (const id of [reason, hasOtherWay ? advice : onlyWayAdvice(advice)]) {
    const sentence = translator.t(id, { amount: '{value}', merchant: '{value}' })
    assert.ok(text.includes(startOf(sentence)), `"${sentence}" is not in: ${text}`)
  }
  assert.ok(
    how.length < 4 || !text.toLowerCase().includes(how.toLowerCase()),
    `the provider's words: ${text}`,
  )
  if (phone !== undefined) assert.equal(await page.locator('#phone').inputValue(), phone)
  if (wallet.network !== undefined)
    assert.ok(await page.locator(`[value=${wallet.network}]`).isChecked(), 'the network is kept')
  await assertFits(page)
  assert.equal((await payment()).status, 'pending')
}

async function assertPaid({ page, translator, payment, provider, attempt }: OpenedWallet): Promise<void> {
  const text = await shownText(page)
  assert.ok(
    text.includes(startOf(translator.t('paidText', { amount: '{value}', merchant: '{value}' }))),
    text,
  )
  await assertFits(page)
  assert.equal((await payment()).status, 'successful')
  assert.equal(provider.executions((await attempt()).key), 1)
}

/** A slow machine reloads pages, so the payment counts as the largest of as many screens as it has. */
async function assertSizes({ sizes }: OpenedWallet): Promise<void> {
  const bytes = (await sizes()).toSorted((one, other) => other - one)
  const [largest = 0] = bytes
  assert.ok(largest <= LIMITS.page, `${bytes}`)
  const all = bytes.slice(0, SCREENS).reduce((sum, one) => sum + one, 0)
  assert.ok(all <= LIMITS.flow, `${all}`)
}

/** With the same number again, for which the clock of the service is advanced. */
async function declineThenPay(t: TestContext, wallet: Wallet, language: Language): Promise<void> {
  const opened = await open(t, wallet, language)
  const [how = ''] = Object.keys(wallet.declines)
  await pressTwice(opened, wallet)
  await opened.finish({ kind: 'declines', how })
  await assertDeclined(opened, wallet, how)
  if (wallet.step === 'prompt') clock.advance(COOLDOWN_MS)
  await opened.press(opened.page)
  await payWaiting(opened, wallet)
  assert.equal(opened.submissions(), 2)
}

async function pay(t: TestContext, wallet: Wallet, language: Language): Promise<void> {
  const opened = await open(t, wallet, language)
  await pressTwice(opened, wallet)
  await payWaiting(opened, wallet)
}

async function payWaiting(opened: OpenedWallet, wallet: Wallet): Promise<void> {
  await assertWaiting(opened, wallet)
  await opened.finish({ kind: 'pays' })
  await assertPaid(opened)
  await assertSizes(opened)
}

async function declineWith(t: TestContext, wallet: Wallet, language: Language, how: string): Promise<void> {
  const opened = await open(t, wallet, language)
  await opened.fill(opened.page)
  await opened.press(opened.page)
  await assertWaiting(opened, wallet)
  await opened.finish({ kind: 'declines', how })
  await assertDeclined(opened, wallet, how)
}

/**
 * The provider acts, and its answer is lost. A phone may have been prompted: nothing is said about the money, and nothing is
 * asked for again.
 */
async function losePrompt(t: TestContext, wallet: Wallet, language: Language): Promise<void> {
  const opened = await open(t, wallet, language)
  const { page, translator, provider, fill, press } = opened
  provider.server.injectFault('cut_off_after_acting', { on: wallet.submission, times: 1 })
  await fill(page)
  await press(page)
  const text = await shownText(page)
  assert.ok(text.includes(translator.t('momentText')), text)
  assert.ok(!text.includes(translator.t('howToPay')), text)
  await assertFits(page)
  await page.reload()
  assert.equal(await shownText(page), text)
  await opened.finish({ kind: 'pays' })
  await assertPaid(opened)
  assert.equal(opened.submissions(), 1)
}

/** No payer has the address of the page, so no payment can be made there: the payer may try again immediately. */
async function losePage(t: TestContext, wallet: Wallet, language: Language): Promise<void> {
  const opened = await open(t, wallet, language)
  const { page, translator, provider, press } = opened
  provider.server.injectFault('cut_off_after_acting', { on: wallet.submission, times: 1 })
  await press(page)
  const text = await shownText(page)
  assert.ok(text.includes(translator.t('failureProviderUnavailable')), text)
  assert.ok(text.includes(translator.t('notCharged')), text)
  await press(page)
  await assertWaiting(opened, wallet)
  await opened.finish({ kind: 'pays' })
  await assertPaid(opened)
}

const LANGUAGE_OF_DECLINES: Language = 'sw'

function testWallet(name: string, wallet: Wallet, language: Language): void {
  const isDeclined = language === LANGUAGE_OF_DECLINES
  const { step, declines } = wallet
  if (isDeclined)
    it(`by ${name}, declined and then paid, in ${language}`, (t) => declineThenPay(t, wallet, language))
  else it(`by ${name}, paid, in ${language}`, (t) => pay(t, wallet, language))
  // The texts of declines are the same for all wallets: the other languages are in the longest form.
  if (!isDeclined && FORM === 'rest') return
  it(`by ${name}, declined in every way, in ${language}`, async (t) => {
    for (const how of Object.keys(declines)) await declineWith(t, wallet, language, how)
  })
  // No payer has seen the account, so another gateway shows its own.
  if (step === 'transfer') return
  const loses = step === 'prompt' ? losePrompt : losePage
  it(`by ${name}, when the answer is lost, in ${language}`, (t) => loses(t, wallet, language))
}

describe('a payment on our page, without JavaScript, 320 pixels wide', () => {
  for (const [name, wallet] of Object.entries(WALLETS))
    for (const language of LANGUAGE_CODES) testWallet(name, wallet, language)
})
