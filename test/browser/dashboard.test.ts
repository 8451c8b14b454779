// The dashboard in a real browser: every screen is accessible and fits phones; a payment is found and refunded without
// JavaScript and by keyboard alone.

import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { initiateBody, payWith } from '../support/builders.ts'
import { signInAs, signInAsOperator } from '../support/dashboard.ts'
import { crawl, shownPages } from '../support/dashboard-crawl.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { HAS_LARGER_FORM, sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser, type VisitorOptions } from './browser.ts'

const service = await testService({ after })
const browser = await startBrowser({ after })
const merchant = await service.newMerchant()
await makeOneOfEverything(merchant.api, 'Owned')
const owner = await signInAs(service, merchant.uuid)

await signInAsOperator(service, owner)

const SIGN_IN = '/app/sign-in'
const SIGN_INS = [SIGN_IN, '/ops/sign-in']
const EVERY_SCREEN = [await crawl(owner), await crawl(owner, '/ops')]
  .flatMap(shownPages)
  .flatMap(([address]) => address ?? [])
const QUICK_SCREENS = [
  '/app',
  '/app/payments',
  EVERY_SCREEN.find((one) => one.startsWith('/app/payments/')) ?? '',
  '/ops',
]
const SCREENS = sized<readonly string[]>({ quick: QUICK_SCREENS, rest: EVERY_SCREEN, long: EVERY_SCREEN })
const LANGUAGES = sized<readonly string[]>({ quick: ['en'], rest: ['ar'], long: ['en', 'ar'] })
const PHONES = [320, 360]

/** The owner in a browser, who is an operator too. No test may cause a message in its console or a report of its policies. */
async function open(t: TestContext, options: Partial<VisitorOptions> = {}): Promise<Page> {
  const { page, problems } = await newVisitor(t, browser, { origins: [service.url], ...options })
  t.after(() => assert.deepEqual(problems, []))
  const { cookies } = await signInAsOperator(service, await signInAs(service, merchant.uuid))
  await page.context().addCookies([...cookies].map(([name, value]) => ({ name, value, url: service.url })))
  return page
}

async function findViolations(page: Page): Promise<string[]> {
  const problems: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const axe = new AxeBuilder({ page })
    // Both schemes share the page, so only colours can differ.
    if (colorScheme === 'dark') axe.withRules(['color-contrast', 'link-in-text-block'])
    const { violations } = await axe.analyze()
    for (const { id, nodes } of violations)
      problems.push(`${colorScheme}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }
  return problems
}

async function findOverflow(page: Page): Promise<string[]> {
  const problems: string[] = []
  for (const width of PHONES) {
    await page.setViewportSize({ width, height: 800 })
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
    if (wide > width) problems.push(`${wide} wide in ${width}`)
  }
  return problems
}

/** So many that a busy machine reads them within the time of a test. */
const AT_ONCE = 12
// The sign-ins come last: they are shown without a session.
const PARTS = groupsOf([...SCREENS, ...SIGN_INS])

function groupsOf(addresses: readonly string[]): string[][] {
  const starts = addresses.flatMap((_, index) => (index % AT_ONCE === 0 ? [index] : []))
  return starts.map((start) => addresses.slice(start, start + AT_ONCE))
}

describe('the screens of the dashboard', () => {
  const runs = LANGUAGES.flatMap((language) => PARTS.map((part, index) => ({ language, part, index })))
  for (const { language, part, index } of runs)
    it(`are accessible and fit phones in ${language}, part ${index + 1}`, HAS_LARGER_FORM, async (t) => {
      const page = await open(t)
      const found: Record<string, string[]> = {}
      for (const address of part) {
        if (SIGN_INS.includes(address)) await page.context().clearCookies()
        await page.setViewportSize({ width: 1_280, height: 800 })
        const asked = new URL(address, service.url)
        asked.searchParams.set('lang', language)
        await page.goto(asked.href)
        assert.equal(await page.locator('html').getAttribute('lang'), language, address)
        const problems = [...(await findViolations(page)), ...(await findOverflow(page))]
        if (problems.length > 0) found[address] = problems
      }
      assert.deepEqual(found, {})
    })
})

async function refundsOf(reference: string): Promise<string[]> {
  const listed = await merchant.api.get(`/api/v1/refunds?search=${reference}`)
  return listed.body.data.map(({ amount }: { amount: string }) => amount)
}

describe('an open page of the dashboard', () => {
  it('shows that its payment was paid, and that there are new ones, without being loaded again', async (t) => {
    const body = initiateBody()
    const made = await merchant.api.post('/api/v1/checkout/initiate-payment', body)
    const page = await open(t)
    const list = await page.context().newPage()
    await list.goto(`${service.url}/app/payments`)
    await page.goto(`${service.url}/app/payments/${made.body.data.uuid}`)
    await page.getByText('Pending').first().waitFor()
    await page.evaluate("document.body.dataset.kept = 'yes'")
    const path = `/api/v1/sandbox/payments/${body.reference}/complete`
    assert.equal((await merchant.api.post(path, { instrument: 'card_success' })).http, 200)
    await page.locator('[data-part="status"]').getByText('Paid').waitFor()
    assert.equal(await page.evaluate('document.body.dataset.kept'), 'yes')
    await list.bringToFront()
    await merchant.api.post('/api/v1/checkout/initiate-payment', initiateBody())
    await list.getByText(/^\d+ new since/).waitFor()
  })
})

describe('a task in the dashboard', () => {
  it('can be done without JavaScript: find a payment, refund half of it, sign out', async (t) => {
    const { reference } = await payWith(merchant.api, 'card_success', { amount: 1_000 })
    const page = await open(t, { javaScript: false, width: 360 })
    await page.goto(`${service.url}/app`)
    await page.locator('#find').fill(reference)
    await page.locator('.find button').click()
    await page.getByRole('link', { name: reference }).click()
    await page.locator('#amount').fill('500')
    await page.locator('form[action$="/refund"] button').click()
    await page.getByRole('status').waitFor()
    assert.deepEqual(await refundsOf(reference), ['500.00'])
    await signOut(page)
    await page.waitForURL(`${service.url}${SIGN_IN}`)
    await page.goto(`${service.url}/app/payments`)
    assert.equal(new URL(page.url()).pathname, SIGN_IN)
  })

  it('can be done by keyboard: search, open, refund, sign out', async (t) => {
    const { reference } = await payWith(merchant.api, 'card_success', { amount: 1_000 })
    const page = await open(t)
    const { keyboard } = page
    await page.goto(`${service.url}/app`)
    await keyboard.press('/')
    await keyboard.type(reference)
    await keyboard.press('Enter')
    await page.waitForURL(/\/app\/search/)
    await keyboard.press('j')
    await keyboard.press('Enter')
    await page.waitForURL(/\/app\/payments\//)
    await tabTo(page, '#amount')
    await keyboard.press('Control+A')
    await keyboard.type('500')
    await keyboard.press('Enter')
    await page.waitForURL(/done=refund/)
    assert.deepEqual(await refundsOf(reference), ['500.00'])
    await keyboard.press('g')
    await keyboard.press('p')
    await page.waitForURL(`${service.url}/app/payments`)
    await tabTo(page, 'form[action="/app/sign-out"] button')
    await keyboard.press('Enter')
    await page.waitForURL(`${service.url}${SIGN_IN}`)
  })
})

const signOut = (page: Page) => page.locator('form[action="/app/sign-out"] button:visible').click()

const MAX_STOPS = 80

/** Presses Tab until the element has the focus, which must be visible at every stop. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let stop = 0; stop < MAX_STOPS; stop++) {
    await page.keyboard.press('Tab')
    const [isThere, outline, text] = await page.evaluate<[boolean, string, string]>(
      `(() => {
        const { activeElement: at } = document
        const { outlineStyle, outlineWidth } = getComputedStyle(at)
        return [at.matches(${JSON.stringify(selector)}), outlineStyle + ' ' + outlineWidth, at.outerHTML]
      })()`,
    )
    assert.equal(outline, 'solid 3px', `the focus is visible on ${text}`)
    if (isThere) return
  }
  assert.fail(`Tab did not reach ${selector}`)
}
