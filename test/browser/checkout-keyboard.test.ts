// The checkout by hands on a keyboard alone: Tab, arrows, Space and Enter, and what is typed. Nothing here clicks.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { tickingClock } from '../support/fake-clock.ts'
import { newPhone } from '../support/payer.ts'
import { PAY, startRig, waitForHeading } from './payers.ts'

// Slower than ours, so that also a busy machine shows a wait before it is over.
const { open, shop } = await startRig({ after }, { clock: tickingClock(1 / 4) })

const MAX_STOPS = 30

const focused = (page: Page) => page.locator(':focus')

/** What the focus stands on, as somebody who listens hears it; the field's own name where it has a label. */
const focusedName = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const { activeElement } = document
    return (activeElement.labels?.[0] ?? activeElement).textContent.replace(/\\s+/g, ' ').trim()
  })()`)

/** Tabs on until the focus is where it should be, and sees it there at every stop on the way. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const seen: string[] = []
  while (seen.length < MAX_STOPS) {
    await page.keyboard.press('Tab')
    const here = await focusedName(page)
    await assertVisibleFocus(page, here)
    if (typeof name === 'string' ? here === name : name.test(here)) return
    seen.push(here)
  }
  assert.fail(`Tab never came to ${name}, only to ${seen.join(', ')}`)
}

async function assertVisibleFocus(page: Page, name: string): Promise<void> {
  // A script as text: the tests have no types of the browser.
  const outline = await page.evaluate(`(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
    const { top, bottom, height } = document.activeElement.getBoundingClientRect()
    const isInSight = height > 0 && bottom > 0 && top < innerHeight
    return outlineStyle + ' ' + outlineWidth + (isInSight ? '' : ', out of sight')
  })()`)
  assert.equal(outline, 'solid 3px', `the focus can be seen on ${name}`)
}

describe('a payer at a keyboard', { concurrency: 2 }, () => {
  for (const javaScript of [true, false]) {
    describe(`${javaScript ? 'with' : 'without'} JavaScript`, { concurrency: 4 }, () => {
      it('pays with mobile money', async (t) => {
        const { page, executions, returnUrlWith } = await open(t, { javaScript })
        await tabTo(page, 'Mobile money')
        await page.keyboard.press('Space')
        await tabTo(page, 'Mobile money number')
        await page.keyboard.type(newPhone())
        await tabTo(page, 'Mobile network')
        // Another network than the number suggests, by its first letters.
        await page.keyboard.type('Air')
        assert.equal(await focused(page).inputValue(), 'airtel_ke')
        await tabTo(page, 'Test mode: what should happen?')
        await tabTo(page, PAY)
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Check your phone')
        await page.getByText(/^Sent to .*, Airtel Money$/).waitFor()
        await tabTo(page, 'Check status now')
        await page.keyboard.press('Space')
        await waitForHeading(page, 'Paid')
        await tabTo(page, 'Return to Demo Shop')
        await page.keyboard.press('Enter')
        await page.waitForURL(`${shop}/**`)
        assert.equal(page.url(), returnUrlWith('successful'))
        assert.equal(await executions(), 1)
      })

      it('pays with a card, chosen by the arrows', async (t) => {
        const { page, executions } = await open(t, { javaScript })
        await tabTo(page, 'Mobile money')
        await page.keyboard.press('ArrowDown')
        assert.equal(await focusedName(page), 'Card')
        await assertVisibleFocus(page, 'Card')
        assert.ok(await focused(page).isChecked())
        assert.equal(await page.getByLabel('Mobile money number').isVisible(), false)
        await tabTo(page, PAY)
        await page.keyboard.press('Enter')
        await page.getByText('Choose a test card').waitFor()
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Paid')
        assert.equal(await executions(), 1)
      })

      it('is led to a mistake, and from it to its field', async (t) => {
        const { page, read } = await open(t, { javaScript })
        await tabTo(page, 'Mobile money number')
        await page.keyboard.type('0712')
        // Enter in a field presses Pay.
        await page.keyboard.press('Enter')
        await page.getByRole('alert').waitFor()
        assert.equal(await focused(page).getAttribute('role'), 'alert')
        assert.match(await focusedName(page), /^Please check this Enter a mobile number/)
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        assert.equal(await focusedName(page), 'Mobile money number')
        assert.equal(await focused(page).inputValue(), '0712')
        assert.equal(await focused(page).getAttribute('aria-invalid'), 'true')
        const described = await focused(page).getAttribute('aria-describedby')
        assert.match(
          await page.locator(`#${described?.split(' ').at(-1)}`).innerText(),
          /^Enter a mobile number/,
        )
        await page.keyboard.press('Control+A')
        await page.keyboard.type(newPhone())
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Check your phone')
        assert.equal((await read()).attempts.length, 1)
      })

      it('switches the language', async (t) => {
        const { page } = await open(t, { javaScript })
        await tabTo(page, 'Français')
        await page.keyboard.press('Enter')
        await waitForHeading(page, /^Payer /)
        assert.equal(await page.locator('html').getAttribute('lang'), 'fr')
      })

      it('leaves without paying', async (t) => {
        const { page, returnUrlWith } = await open(t, { javaScript })
        await tabTo(page, 'Cancel and return')
        await page.keyboard.press('Enter')
        await page.waitForURL(`${shop}/**`)
        assert.equal(page.url(), returnUrlWith('abandoned'))
      })

      it('reads the account of a transfer and says that it is sent', async (t) => {
        const { page } = await open(t, { javaScript })
        await tabTo(page, 'Mobile money')
        await page.keyboard.press('ArrowUp')
        assert.equal(await focusedName(page), 'Bank transfer')
        await tabTo(page, PAY)
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Send exactly KES 1,250.50')
        await tabTo(page, 'I have sent the money')
        await page.keyboard.press('Enter')
        await waitForHeading(page, /^(We are looking for your transfer|Paid)$/)
      })
    })
  }
})
