// The dashboard in a real browser: every screen is accessible and fits phones, and open pages follow what happens.

import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { initiateBody } from '../support/builders.ts'
import { signInAs, signInAsOperator } from '../support/dashboard.ts'
import { crawl, shownPages } from '../support/dashboard-crawl.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { FORM, HAS_LARGER_FORM, sized } from '../support/scale.ts'
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
const SCREENS = FORM === 'quick' ? await quickScreens() : await everyScreen()
const LANGUAGES = sized<readonly string[]>({ quick: ['en'], rest: ['ar'], long: ['en', 'ar'] })
const PHONES = [320, 360]

type Scheme = 'light' | 'dark'

const SCHEMES: readonly Scheme[] = ['light', 'dark']
/** Of so many screens one is checked in dark colours, too: the screens share their styles. */
const DARK_EACH = sized({ quick: 3, rest: 3, long: 1 })

async function quickScreens(): Promise<string[]> {
  const { body } = await merchant.api.get('/api/v1/payments?limit=1')
  return ['/app', '/app/payments', `/app/payments/${body.data[0].uuid}`, '/ops']
}

async function everyScreen(): Promise<string[]> {
  const found = [await crawl(owner), await crawl(owner, '/ops')]
  return found.flatMap(shownPages).flatMap(([address]) => address ?? [])
}

/** The owner in a browser, who is an operator too. No test may cause a message in its console or a report of its policies. */
async function open(t: TestContext, options: Partial<VisitorOptions> = {}): Promise<Page> {
  const { page, problems } = await newVisitor(t, browser, { origins: [service.url], ...options })
  t.after(() => assert.deepEqual(problems, []))
  const { cookies } = await signInAsOperator(service, await signInAs(service, merchant.uuid))
  await page.context().addCookies([...cookies].map(([name, value]) => ({ name, value, url: service.url })))
  return page
}

async function findViolations(page: Page, schemes: readonly Scheme[]): Promise<string[]> {
  const problems: string[] = []
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    // Without frames one run in the page is enough; the other mode opens another page for its result.
    const axe = new AxeBuilder({ page }).setLegacyMode()
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
      for (const [place, address] of part.entries()) {
        if (SIGN_INS.includes(address)) await page.context().clearCookies()
        await page.setViewportSize({ width: 1_280, height: 800 })
        const asked = new URL(address, service.url)
        asked.searchParams.set('lang', language)
        await page.goto(asked.href)
        assert.equal(await page.locator('html').getAttribute('lang'), language, address)
        const problems = [
          ...(await findViolations(page, place % DARK_EACH === 0 ? SCHEMES : ['light'])),
          ...(await findOverflow(page)),
        ]
        if (problems.length > 0) found[address] = problems
      }
      assert.deepEqual(found, {})
    })
})

/** The text of the command, and its words that are on more than one line. */
const READ_COMMAND = `(() => {
  const element = [...document.querySelectorAll('code')].find(({ textContent }) => /npm run/.test(textContent))
  const range = document.createRange()
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const broken = []
  for (let node = texts.nextNode(); node; node = texts.nextNode())
    for (const { 0: word, index } of node.data.matchAll(/[^ ]+/g)) {
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      if (range.getClientRects().length > 1) broken.push(word)
    }
  return { text: element.textContent, broken }
})()`

describe('the command on a sign-in page of staging', () => {
  for (const address of SIGN_INS)
    it(`breaks only at its spaces on a phone, and is copied as it is: ${address}`, async (t) => {
      const { page, problems } = await newVisitor(t, browser, { origins: [service.url] })
      await page.goto(service.url + address)
      for (const width of PHONES) {
        await page.setViewportSize({ width, height: 800 })
        const { text, broken } = await page.evaluate<{ text: string; broken: string[] }>(READ_COMMAND)
        assert.deepEqual(broken, [], `${width} wide`)
        assert.match(text, /^npm run cowry -- people [a-z-]+( --email \S+)?$/)
      }
      assert.deepEqual(await findOverflow(page), [])
      assert.deepEqual(problems, [])
    })
})

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
