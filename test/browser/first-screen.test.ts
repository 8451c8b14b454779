// What a payer sees on a small phone without scrolling: the way to pay, its fields, and the button.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { LANGUAGE_CODES, type Language } from '../../src/core/languages.ts'
import { FORM, HAS_LARGER_FORM, LARGER_FORM_ONLY } from '../support/scale.ts'
import { startRig } from './payers.ts'

const { open } = await startRig({ after })

const PHONE = { width: 360, height: 640 }

// Transfers are first in Nigeria, cards in Egypt, mobile money elsewhere. Tanzania has the longest names of networks.
const PLACES = [
  { country: 'KE', currency: 'KES', form: HAS_LARGER_FORM },
  { country: 'NG', currency: 'NGN', form: LARGER_FORM_ONLY },
  { country: 'EG', currency: 'EGP', form: LARGER_FORM_ONLY },
  { country: 'TZ', currency: 'TZS', form: LARGER_FORM_ONLY },
  { country: 'SN', currency: 'XOF', form: LARGER_FORM_ONLY },
  { country: 'BD', currency: 'BDT', form: LARGER_FORM_ONLY },
]
const LANGUAGES: readonly Language[] = FORM === 'quick' ? ['en'] : LANGUAGE_CODES

/** The bottom edge of the shown button, and how far the page is wider than the screen. */
const measure = (page: Page): Promise<{ bottom: number; overflow: number }> =>
  page.evaluate(`(() => {
    scrollTo(0, 0)
    const button = [...document.querySelectorAll('button.main')].find((one) => one.offsetParent)
    const { scrollWidth, clientWidth } = document.documentElement
    return { bottom: button.getBoundingClientRect().bottom, overflow: scrollWidth - clientWidth }
  })()`)

describe('the first screen of a small phone', () => {
  for (const { country, currency, form } of PLACES)
    it(`shows the button of every way to pay in ${country}, in test mode too`, form, async (t) => {
      const changes = { country, currency, amount: 125_000, description: 'Kamusi ya Kiswahili, 2 copies' }
      const { page, checkoutUrl } = await open(t, { changes })
      await page.setViewportSize(PHONE)
      for (const language of LANGUAGES) {
        await page.goto(`${checkoutUrl}?lang=${language}`)
        const ways = await page.locator('[name=channel]').all()
        assert.equal(ways.length, 3)
        for (const way of ways) {
          await way.check()
          const { bottom, overflow } = await measure(page)
          const where = `${language} ${await way.getAttribute('value')}`
          assert.ok(bottom <= PHONE.height, `${where}: the button ends at ${bottom}`)
          assert.equal(overflow, 0, where)
        }
      }
    })
})
