// The sandbox provider's pages in a real browser: light and dark, for screen readers, keyboards and narrow phones. The
// provider runs alone here, like a third-party site.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { money } from '../../src/core/money.ts'
import type { Attempt } from '../../src/gateways/gateway.ts'
import { SANDBOX_INSTRUMENTS } from '../../src/gateways/sandbox/index.ts'
import { CARD, makeAttempt, startRig } from '../gateways/sandbox/rig.ts'
import type { Cleanup } from '../support/database.ts'
import { newVisitor, startBrowser, startShop, type Visitor, type VisitorOptions } from './browser.ts'

const cleanups: (() => Promise<void>)[] = []
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})
const shop = await startShop({ after })
const browser = await startBrowser({ after })
const rig = await startRig(cleanups)

const labelOf = (instrument: string) =>
  SANDBOX_INSTRUMENTS.find(({ name }) => name === instrument)?.label ?? ''

async function startPayment(changes: Partial<Attempt> = {}) {
  const attempt = makeAttempt({ merchantName: 'Duka La Vitabu', ...changes })
  const started = await rig.gateway.startCheckout(attempt, CARD, `${shop}/return`)
  assert(started.kind === 'started' && started.next.kind === 'redirect')
  return { attempt, url: started.next.url }
}

const outcomeOf = async (attempt: Attempt) => {
  const outcome = await rig.gateway.verify(attempt, null)
  return outcome.kind === 'declined' ? outcome.code : outcome.kind
}

async function visit(t: Cleanup, url: string, options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await newVisitor(t, browser, { ...options, origins: [rig.url, shop] })
  await visitor.page.goto(url)
  return visitor
}

async function openApproval(page: Page): Promise<void> {
  await page.getByLabel(labelOf('card_3ds'), { exact: true }).check()
  await page.getByRole('button', { name: /^Pay KES/ }).click()
  await page.getByRole('heading', { name: "Your bank is checking it's you" }).waitFor()
}

/** Each page, and the steps that lead to it. */
const PAGES: Record<string, (page: Page) => Promise<unknown>> = {
  'for paying': async (page) => page.goto((await startPayment()).url),
  'for paying, with a problem': async (page) => page.goto(`${(await startPayment()).url}?problem=choice`),
  'of the bank': async (page) => {
    await page.goto((await startPayment()).url)
    await openApproval(page)
  },
  'of the bank, with a problem': async (page) => {
    await page.goto((await startPayment()).url)
    await openApproval(page)
    await page.goto(`${page.url()}?problem=choice`)
  },
  'for a session that is over': async (page) => {
    const { url } = await startPayment({ expiresAt: new Date(rig.clock.now().getTime() - 1) })
    return page.goto(url)
  },
  'for a link that leads nowhere': async (page) => page.goto(`${rig.url}/pay/nothing`),
}

const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

// Beyond the required contrast of 4.5: a phone in sunlight needs 7.
const READABLE_IN_THE_SUN = { rules: { 'color-contrast-enhanced': { enabled: true } } }

for (const [name, open] of Object.entries(PAGES)) {
  describe(`the page ${name}`, { concurrency: 3 }, () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      it(`breaks no accessibility rule on the page ${name} in ${colorScheme}`, async (t) => {
        const { page } = await visit(t, shop)
        await page.emulateMedia({ colorScheme })
        await open(page)
        const axe = new AxeBuilder({ page }).withTags(STANDARDS).options(READABLE_IN_THE_SUN)
        const { violations, incomplete, passes } = await axe.analyze()
        assert.deepEqual(
          [...violations, ...incomplete].map(({ id, nodes }) => [id, nodes.map((node) => node.html)]),
          [],
        )
        assert.ok(passes.some(({ id }) => id === 'color-contrast-enhanced'))
      })
    }

    it(`fits the page ${name} on the narrowest phone, with large touch targets`, async (t) => {
      const { page } = await visit(t, shop, { width: 320 })
      await open(page)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
      for (const target of await page.locator('label, button, a').all()) {
        const { height = 0 } = (await target.boundingBox()) ?? {}
        assert.ok(height >= 48, `${await target.textContent()} is ${height} px high`)
      }
    })
  })
}

const focused = (page: Page) => page.locator(':focus')

/** Whether the element has a visible outline. */
const outlineOf = (page: Page, selector: string) =>
  page.evaluate(`getComputedStyle(document.querySelector('${selector}')).outlineStyle`)

describe('the sandbox provider’s page in a browser', { concurrency: 4 }, () => {
  it('pays by keyboard only, with a visible focus', async (t) => {
    const { attempt, url } = await startPayment()
    const { page, problems } = await visit(t, url)
    await page.keyboard.press('Tab')
    assert.equal(await focused(page).getAttribute('aria-label'), labelOf('card_success'))
    await page.keyboard.press('ArrowDown')
    assert.equal(await focused(page).getAttribute('aria-label'), labelOf('card_3ds'))
    assert.equal(await outlineOf(page, 'label:has(:focus)'), 'solid')
    await page.keyboard.press('Tab')
    assert.match((await focused(page).textContent()) ?? '', /^Pay KES/)
    assert.equal(await outlineOf(page, ':focus'), 'solid')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${shop}/return`)
    assert.equal(await outcomeOf(attempt), 'succeeded')
    assert.deepEqual(problems, [])
  })

  it('keeps the selected card visible above the sticky button', async (t) => {
    const { page } = await visit(t, (await startPayment()).url, { width: 390 })
    const button = page.getByRole('button', { name: /^Pay KES/ })
    await page.keyboard.press('Tab')
    for (const { label } of SANDBOX_INSTRUMENTS.filter(({ channel }) => channel === 'card')) {
      assert.equal(await focused(page).getAttribute('aria-label'), label)
      const card = await page.locator('label:has(:focus)').boundingBox()
      const pay = await button.boundingBox()
      assert(card && pay)
      assert.ok(card.y >= 0 && card.y + card.height <= pay.y, `${label} is hidden`)
      await page.keyboard.press('ArrowDown')
    }
  })

  it('returns unpaid after a refusal at the bank, without JavaScript', async (t) => {
    const { attempt, url } = await startPayment()
    const { page, problems } = await visit(t, url, { javaScript: false })
    await openApproval(page)
    await page.getByText('Visa •••• 3155').waitFor()
    await page.getByRole('button', { name: 'Refuse' }).click()
    await page.waitForURL(`${shop}/return`)
    assert.equal(await outcomeOf(attempt), 'authentication_failed')
    assert.deepEqual(problems, [])
  })

  it('shows a missing choice at once, and then pays', async (t) => {
    const { attempt, url } = await startPayment()
    const { page } = await visit(t, `${url}?problem=choice`)
    assert.equal(await focused(page).getAttribute('role'), 'alert')
    assert.match(await page.title(), /^Problem: /)
    // The browser itself blocks a form without a choice.
    await page.getByRole('button', { name: /^Pay KES/ }).click()
    assert.equal(await outcomeOf(attempt), 'pending')
    await page.getByLabel(labelOf('card_success'), { exact: true }).check()
    await page.getByRole('button', { name: /^Pay KES/ }).click()
    await page.waitForURL(`${shop}/return`)
    assert.equal(await outcomeOf(attempt), 'succeeded')
  })

  it('cancels without a choice', async (t) => {
    const { attempt, url } = await startPayment()
    const { page } = await visit(t, `${url}?problem=choice`)
    await page.getByRole('button', { name: 'Cancel and return' }).click()
    await page.waitForURL(`${shop}/return`)
    assert.equal(await outcomeOf(attempt), 'customer_cancelled')
  })

  it('returns from a session that has ended', async (t) => {
    const { page } = await visit(t, shop)
    await PAGES['for a session that is over']?.(page)
    await page.getByRole('link', { name: 'Return and see what to do' }).click()
    await page.waitForURL(`${shop}/return`)
  })

  it('shows every merchant text legibly on a narrow phone', async (t) => {
    const { url } = await startPayment({
      amount: money(99_999_999_999_999n, 'NGN'),
      merchantName: 'M'.repeat(100),
      description: 'W'.repeat(255),
    })
    const { page } = await visit(t, url, { width: 320 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
  })
})
