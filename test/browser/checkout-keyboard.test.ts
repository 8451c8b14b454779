// The checkout by keyboard only: Tab, arrows, Space, Enter and typing. No test here clicks.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { tickingClock } from '../support/fake-clock.ts'
import { newPhone } from '../support/payer.ts'
import { PAY, startRig, waitForHeading } from './payers.ts'

// Slower than the default, so that also a busy machine shows the waiting page.
const { open, shop } = await startRig({ after }, { clock: tickingClock(1 / 4) })

const MAX_STOPS = 30
// The names of its networks follow.
const MOBILE_MONEY = /^Mobile money(?! number)/

const focused = (page: Page) => page.locator(':focus')

/** The accessible name of the focused element; for a labelled field its label. */
const focusedName = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const { activeElement } = document
    return (activeElement.labels?.[0] ?? activeElement).textContent.replace(/\\s+/g, ' ').trim()
  })()`)

/** Presses Tab until the named element has the focus, and checks the focus indicator at every stop. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const seen: string[] = []
  while (seen.length < MAX_STOPS) {
    await page.keyboard.press('Tab')
    const here = await focusedName(page)
    await assertVisibleFocus(page, here)
    if (typeof name === 'string' ? here === name : name.test(here)) return
    seen.push(here)
  }
  assert.fail(`Tab did not reach ${name}, only ${seen.join(', ')}`)
}

async function assertVisibleFocus(page: Page, name: string): Promise<void> {
  // A script as text, because the tests have no browser types.
  const outline = await page.evaluate(`(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
    const { top, bottom, height } = document.activeElement.getBoundingClientRect()
    const isInSight = height > 0 && bottom > 0 && top < innerHeight
    return outlineStyle + ' ' + outlineWidth + (isInSight ? '' : ', out of sight')
  })()`)
  assert.equal(outline, 'solid 3px', `the focus is visible on ${name}`)
}

describe('the checkout by keyboard', { concurrency: 2 }, () => {
  for (const javaScript of [true, false]) {
    describe(`${javaScript ? 'with' : 'without'} JavaScript`, { concurrency: 4 }, () => {
      it('pays with mobile money by keyboard', async (t) => {
        const { page, executions, returnUrlWith } = await open(t, { javaScript })
        await tabTo(page, MOBILE_MONEY)
        await page.keyboard.press('Space')
        await tabTo(page, 'M-Pesa')
        // Another network than the number suggests.
        await page.keyboard.press('ArrowRight')
        assert.equal(await focusedName(page), 'Airtel Money')
        await tabTo(page, 'Mobile money number')
        await page.keyboard.type(newPhone())
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

      it('pays with a card that the arrows select', async (t) => {
        const { page, executions } = await open(t, { javaScript })
        await tabTo(page, MOBILE_MONEY)
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

      it('moves the focus to an error summary, and from there to the field', async (t) => {
        const { page, read } = await open(t, { javaScript })
        await tabTo(page, 'Mobile money number')
        await page.keyboard.type('0712')
        // Enter in a field presses Pay.
        await page.keyboard.press('Enter')
        await page.getByRole('alert').waitFor()
        assert.equal(await focused(page).getAttribute('role'), 'alert')
        assert.match(await focusedName(page), /^Please check this This number is too short/)
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        assert.equal(await focusedName(page), 'Mobile money number')
        assert.equal(await focused(page).inputValue(), '0712')
        assert.equal(await focused(page).getAttribute('aria-invalid'), 'true')
        const described = await focused(page).getAttribute('aria-describedby')
        assert.match(
          await page.locator(`#${described?.split(' ').at(-1)}`).innerText(),
          /^This number is too short/,
        )
        await page.keyboard.press('Control+A')
        await page.keyboard.type(newPhone())
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Check your phone')
        assert.equal((await read()).attempts.length, 1)
      })

      it('switches the language by keyboard', async (t) => {
        const { page } = await open(t, { javaScript })
        await tabTo(page, 'Français')
        await page.keyboard.press('Enter')
        await waitForHeading(page, /^Payer /)
        assert.equal(await page.locator('html').getAttribute('lang'), 'fr')
      })

      it('cancels by keyboard', async (t) => {
        const { page, returnUrlWith } = await open(t, { javaScript })
        await tabTo(page, 'Cancel and return')
        await page.keyboard.press('Enter')
        await page.waitForURL(`${shop}/**`)
        assert.equal(page.url(), returnUrlWith('cancelled'))
      })

      it('shows the account of a transfer and reports it as sent by keyboard', async (t) => {
        const { page } = await open(t, { javaScript })
        await tabTo(page, MOBILE_MONEY)
        await page.keyboard.press('ArrowUp')
        assert.equal(await focusedName(page), 'Bank transfer')
        await tabTo(page, PAY)
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Send exactly KSh 1,250.50')
        await tabTo(page, 'I have sent the money')
        await page.keyboard.press('Enter')
        await waitForHeading(page, /^(We are looking for your transfer|Paid)$/)
      })
    })
  }
})
