// Waiting without paying twice: when the page offers another method, the limits of prompts, extensions of the expiry,
// and how the page polls for the result. The service's clock is stopped unless a test moves it; the page's clock
// moves separately.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { frozenClock } from '../support/fake-clock.ts'
import { choiceOf, createPayer, newPhone, openCheckout } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { installClock } from './browser.ts'
import { alertText, choose, clickButton, PAY, payWith, startRig, waitForHeading } from './payers.ts'

const clock = frozenClock()
const { open, service, shop } = await startRig({ after }, { clock })

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

const CHANGE = 'Change the number or pay another way'
const PIN_WARNING = 'Only continue if you did not enter your PIN.'

/** Posts a form of the page directly, whatever the page shows. */
async function postByHand(page: Page, url: string): Promise<void> {
  const answer = await page.context().request.post(url, { form: {}, maxRedirects: 0 })
  assert.equal(answer.status(), 303)
}

const isShown = (page: Page, name: string) => page.getByRole('button', { name }).isVisible()

// Counts the requests of the page's script, and the responses that it has read.
const COUNTING = `{
  const { fetch } = window
  const { json } = Response.prototype
  Object.assign(window, { asked: 0, read: 0 })
  window.fetch = (...request) => {
    window.asked += 1
    return fetch(...request)
  }
  Response.prototype.json = function () {
    return json.call(this).finally(() => {
      window.read += 1
    })
  }
}`

/** The page of a prompt has loaded at this moment of its clock, which only the test advances. */
async function openPromptInPageTime(t: Parameters<typeof open>[0]): Promise<Page> {
  const { page } = await open(t)
  await page.addInitScript({ content: COUNTING })
  await installClock(page)
  // Later than the clock can be by now: it runs until it is paused, and cannot go back.
  await page.clock.pauseAt(Date.now() + 60 * MINUTE_MS)
  await payWith(page, 'mobile_timeout')
  await waitForHeading(page, 'Check your phone')
  return page
}

describe('the waiting page of a fresh prompt', { concurrency: 6 }, () => {
  it('offers no other method, and rejects one that is posted directly', async (t) => {
    const { page, read, checkoutUrl } = await open(t)
    await payWith(page, 'mobile_timeout')
    await waitForHeading(page, 'Check your phone')
    assert.equal(await isShown(page, CHANGE), false)
    await postByHand(page, `${checkoutUrl}/other`)
    await page.reload()
    await waitForHeading(page, 'Check your phone')
    assert.deepEqual(
      (await read()).attempts.map(({ status }: { status: string }) => status),
      ['awaiting_customer'],
    )
  })

  it('starts one prompt for repeated posts of the form', async (t) => {
    const { page, read, checkoutUrl } = await open(t)
    const form = choiceOf('mobile_timeout')
    const { request } = page.context()
    const posts = Array.from({ length: 6 }, () =>
      request.post(`${checkoutUrl}/attempts`, { form, maxRedirects: 0 }),
    )
    for (const answer of await Promise.all(posts)) assert.equal(answer.status(), 303)
    await page.reload()
    await waitForHeading(page, 'Check your phone')
    assert.equal((await read()).attempts.length, 1)
  })

  it('shows help after twenty seconds and another method after sixty, without a reload', async (t) => {
    const page = await openPromptInPageTime(t)
    const help = page.getByText('Did you not get the request?')
    await page.clock.runFor(10 * SECOND_MS)
    assert.equal(await help.isVisible(), false)
    await page.clock.runFor(10 * SECOND_MS)
    await help.click()
    assert.equal(await page.getByRole('link', { name: 'Dial *334#' }).getAttribute('href'), 'tel:*334%23')
    await page.clock.runFor(30 * SECOND_MS)
    assert.equal(await isShown(page, CHANGE), false)
    await page.clock.runFor(10 * SECOND_MS)
    assert.equal(await isShown(page, CHANGE), true)
    await page.getByText(PIN_WARNING).waitFor()
  })

  it('counts down, and announces it to screen readers twice', async (t) => {
    const page = await openPromptInPageTime(t)
    const left = page.locator('[data-left]')
    assert.match(await left.innerText(), /^(5:00|4:5\d)$/)
    const liveRegions = left.locator('xpath=ancestor-or-self::*[@aria-live or @role]')
    assert.equal(await liveRegions.count(), 0, 'not every second is announced')
    const announced = page.locator('main > .visually-hidden[role=status]')
    await page.clock.runFor(3 * MINUTE_MS)
    assert.match(await left.innerText(), /^(2:00|1:5\d)$/)
    assert.deepEqual(await announced.allTextContents(), [])
    await page.clock.runFor(MINUTE_MS + SECOND_MS)
    assert.deepEqual(await announced.allTextContents(), ['One minute left'])
    await page.clock.runFor(MINUTE_MS)
    assert.deepEqual(await announced.allTextContents(), ['One minute left', 'Ten seconds left'])
    assert.equal(await left.innerText(), '0:00')
  })

  it('polls for the result every two seconds, then five, then fifteen, and not while the page is hidden', async (t) => {
    const page = await openPromptInPageTime(t)
    const asked = async () => Number(await page.evaluate('window.asked'))
    /** Waits for one poll and its response, because the script then schedules the next poll. */
    const pollsOnce = async (act: () => Promise<unknown>) => {
      const before = await asked()
      await act()
      const read = () => page.evaluate('window.read')
      await eventually(read, (answers) => answers === before + 1, 10_000)
      assert.equal(await asked(), before + 1)
    }
    const pollsAfter = async (ms: number) => {
      const before = await asked()
      await page.clock.runFor(ms - 100)
      assert.equal(await asked(), before, `not before ${ms} ms`)
      await pollsOnce(() => page.clock.runFor(100))
    }
    await pollsOnce(() => page.clock.runFor(2 * SECOND_MS))
    await pollsAfter(2 * SECOND_MS)
    await pollsOnce(() => page.clock.fastForward(30 * SECOND_MS))
    await pollsAfter(5 * SECOND_MS)
    await pollsOnce(() => page.clock.fastForward(90 * SECOND_MS))
    await pollsAfter(15 * SECOND_MS)

    const setHidden = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`)
    await setHidden(true)
    const before = await asked()
    await page.clock.runFor(MINUTE_MS)
    assert.equal(await asked(), before, 'the page is hidden')
    await pollsOnce(() => setHidden(false))
  })

  it('offers more time on the open page when little is left', async (t) => {
    const { page, checkoutUrl } = await open(t)
    await installClock(page)
    await page.goto(checkoutUrl)
    await page.clock.fastForward(49 * MINUTE_MS)
    assert.equal(await isShown(page, 'Give me more time'), false)
    await page.clock.fastForward(MINUTE_MS)
    await page.getByText('This page closes in 10 minutes.').waitFor()
    assert.equal(await isShown(page, 'Give me more time'), true)
  })

  it('detects the network while the payer types, and keeps an explicit choice', async (t) => {
    const { page } = await open(t)
    await installClock(page)
    await page.reload()
    const phone = page.getByLabel('Mobile money number')
    const network = (name: string) => page.getByRole('radio', { name })
    const isFound = (name: string) => eventually(() => network(name).isChecked(), Boolean, 10_000)
    await phone.fill('0733 123 456')
    await isFound('Airtel Money')
    await phone.fill('0712 123 456')
    await isFound('M-Pesa')
    await network('T-Kash').check()
    await phone.fill('0733 123 456')
    await page.clock.runFor(600)
    assert.equal(await network('T-Kash').isChecked(), true)
  })

  it('copies the details of a transfer', async (t) => {
    const { page } = await open(t)
    await payWith(page, 'transfer_success')
    await waitForHeading(page, 'Send exactly KSh 1,250.50')
    const account = await page.getByText(/^\d{10}$/).innerText()
    const phone = (await open(t)).page.getByLabel('Mobile money number')
    await page.context().grantPermissions(['clipboard-write'])
    for (const [what, text] of [
      ['Account number', account],
      ['Amount', '1250.50'],
    ] as const) {
      await page.bringToFront()
      await page.getByRole('button', { name: `Copy: ${what}` }).click()
      await page.locator('.visually-hidden', { hasText: 'Copied' }).first().waitFor({ state: 'attached' })
      await phone.page().bringToFront()
      await phone.fill('')
      await phone.press('Control+V')
      assert.equal(await phone.inputValue(), text)
    }
  })

  it('selects a detail where the clipboard is not permitted', async (t) => {
    const { page } = await open(t)
    await payWith(page, 'transfer_success')
    await page.getByRole('button', { name: 'Copy: Account number' }).click()
    const selected = () => page.evaluate('getSelection().toString()')
    await eventually(selected, (text) => /^\d{10}$/.test(String(text)), 5_000)
  })

  it('limits prompts to five in fifteen minutes per number, across payments', async (t) => {
    const phone = newPhone()
    const otherPayer = createPayer()
    for (let round = 1; round <= 5; round += 1) {
      const { page, uuid } = await openCheckout(service.api, otherPayer)
      await otherPayer.submit(page, '/attempts', { ...choiceOf('mobile_timeout'), phone })
      // One prompt at a time is open on a phone.
      const cancelled = await service.api.post(`/api/v1/checkout/payments/${uuid}/cancel`, {})
      assert.equal(cancelled.http, 200, cancelled.text)
    }
    const { page, read } = await open(t)
    await payWith(page, 'mobile_success', phone)
    assert.match(
      await alertText(page),
      /Too many requests were sent to this number\. Try again in 1[56] minutes/,
    )
    assert.equal(await page.getByLabel('Mobile money number').inputValue(), phone)
    assert.equal((await read()).attempts.length, 0)
    await payWith(page, 'card_success')
    await waitForHeading(page, 'Paid')
  })
})

// These tests move the service's clock, so they run sequentially.
describe('the waiting page as time passes', () => {
  for (const javaScript of [true, false]) {
    it(`offers another method after a minute, ${javaScript ? 'with' : 'without'} JavaScript, and collects once`, async (t) => {
      const { page, read, executions } = await open(t, { javaScript })
      await payWith(page, 'mobile_timeout')
      await waitForHeading(page, 'Check your phone')
      clock.advance(59 * SECOND_MS)
      await page.reload()
      assert.equal(await isShown(page, CHANGE), false)
      clock.advance(SECOND_MS)
      await page.reload()
      await page.getByText(PIN_WARNING).waitFor()
      await clickButton(page, CHANGE)
      await waitForHeading(page, PAY)
      await payWith(page, 'card_success')
      await waitForHeading(page, 'Paid')
      assert.equal(await executions(), 1)
      assert.deepEqual(
        (await read()).attempts.map(({ status }: { status: string }) => status),
        ['declined', 'succeeded'],
      )
    })
  }

  it('delays a second prompt to a phone that just refused, and then sends it', async (t) => {
    const { page, read } = await open(t)
    const phone = newPhone()
    await payWith(page, 'mobile_cancelled', phone)
    await waitForHeading(page, 'Check your phone')
    clock.advance(2 * SECOND_MS)
    await waitForHeading(page, PAY)
    await payWith(page, 'mobile_success', phone)
    assert.match(
      await alertText(page),
      /A request was sent to this number a moment ago\. Try again in (19|20|21) seconds\./,
    )
    assert.equal((await read()).attempts.length, 1)
    clock.advance(20 * SECOND_MS)
    await payWith(page, 'mobile_success', phone)
    await waitForHeading(page, 'Check your phone')
    clock.advance(3 * SECOND_MS)
    await waitForHeading(page, 'Paid')
    assert.equal((await read()).attempts.length, 2)
  })

  it('shows that the result is slow, lets the payer leave, and shows the result when it arrives', async (t) => {
    const { page, returnUrlWith, read } = await open(t)
    await payWith(page, 'mobile_timeout')
    await waitForHeading(page, 'Check your phone')
    clock.advance(121 * SECOND_MS)
    await waitForHeading(page, 'This is taking longer than usual')
    await page.getByText('Do not pay again unless we say that it failed.').waitFor()
    await page.getByRole('link', { name: 'Return to Demo Shop' }).click()
    await page.waitForURL(`${shop}/**`)
    assert.equal(page.url(), returnUrlWith('processing'))
    await page.goBack()
    await waitForHeading(page, 'This is taking longer than usual')
    clock.advance(3 * MINUTE_MS)
    await waitForHeading(page, PAY)
    assert.match(await alertText(page), /^We did not get your approval in time\./)
    assert.equal((await read()).status, 'pending')
  })

  it('treats "I have sent the money" as a report, never as proof', async (t) => {
    const { page, read, executions } = await open(t)
    await payWith(page, 'transfer_success')
    await waitForHeading(page, 'Send exactly KSh 1,250.50')
    await clickButton(page, 'I have sent the money')
    await waitForHeading(page, 'We are looking for your transfer')
    await page.reload()
    await waitForHeading(page, 'We are looking for your transfer')
    assert.equal((await read()).status, 'processing')
    assert.equal(await executions(), 0)
    await page.getByText('Show the account again').click()
    await page.getByText('Sandbox Bank').waitFor()
    clock.advance(3 * SECOND_MS)
    await waitForHeading(page, 'Paid')
    assert.equal(await executions(), 1)
  })

  for (const javaScript of [true, false]) {
    it(`extends the checkout with one tap, ${javaScript ? 'with' : 'without'} JavaScript`, async (t) => {
      const { page, read, expiresAt } = await open(t, { javaScript })
      // Without a script the page cannot detect that little time is left, so it always offers more.
      assert.equal(await isShown(page, 'Give me more time'), !javaScript)
      clock.advance(51 * MINUTE_MS)
      await page.reload()
      await page.getByText('This page closes in 9 minutes.').waitFor()
      await clickButton(page, 'Give me more time')
      await page.getByText('You can pay here until').waitFor()
      assert.equal(Date.parse((await read()).expiresAt) - Date.parse(expiresAt), 51 * MINUTE_MS)
      clock.advance(10 * MINUTE_MS)
      await page.reload()
      await waitForHeading(page, PAY)
      await choose(page, 'card')
      await clickButton(page, PAY)
      await page.getByText('Choose a test card').waitFor()
    })
  }

  it('does not extend a final checkout on the page', async (t) => {
    const { page, checkoutUrl, read } = await open(t)
    clock.advance(61 * MINUTE_MS)
    await postByHand(page, `${checkoutUrl}/extend`)
    await page.reload()
    await waitForHeading(page, 'This payment link has expired')
    await eventually(read, ({ status }) => status === 'expired', 10_000)
  })
})
