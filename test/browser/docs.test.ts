// The documentation in a real browser: accessible on every page and screen, usable without JavaScript, and the reader's key
// never leaves the tab.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { DOCS_PAGES } from '../../src/docs-site/pages.ts'
import { sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser } from './browser.ts'

const service = await testService({ after })
const browser = await startBrowser({ after })
const QUICKSTART = `${service.url}/docs/quickstart`
const KEY = 'cowry_test_0123456789ab_secret'

const EVERY_PATH = [
  '/docs',
  '/docs/search?q=refund',
  '/docs/nowhere',
  ...DOCS_PAGES.map(({ slug }) => `/docs/${slug}`),
]
// One page of each kind, because axe takes seconds on each.
const KINDS = [
  ...EVERY_PATH.slice(0, 3),
  ...['quickstart', 'go-live', 'refunds', 'payment-states', 'states', 'agents', 'tools'].map(
    (slug) => `/docs/${slug}`,
  ),
]
const PATHS = sized<readonly string[]>({ quick: KINDS, rest: KINDS, long: EVERY_PATH })
const SCHEMES = ['light', 'dark'] as const
const WIDTHS = [320, 768, 1280]

async function findOverflow(page: Page, path: string): Promise<string[]> {
  const problems: string[] = []
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
    if (wide > width) problems.push(`${path}: ${wide} wide in ${width}`)
  }
  return problems
}

async function findViolations(page: Page): Promise<string[]> {
  const problems: string[] = []
  for (const colorScheme of SCHEMES) {
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

describe('the documentation in a browser', () => {
  for (const path of PATHS)
    it(`is accessible at ${path}`, async (t) => {
      const { page, problems } = await newVisitor(t, browser, { width: 320, origins: [service.url] })
      await page.goto(`${service.url}${path}`)
      assert.deepEqual(await findViolations(page), [])
      // The browser reports a page that does not exist, which is one of them.
      assert.deepEqual(
        problems.filter((problem) => !problem.includes('404')),
        [],
      )
    })

  it('fits the screen from 320 px on', async (t) => {
    const { page } = await newVisitor(t, browser, { width: 320, origins: [service.url] })
    const found: string[] = []
    for (const path of EVERY_PATH) {
      await page.goto(`${service.url}${path}`)
      found.push(...(await findOverflow(page, path)))
    }
    assert.deepEqual(found, [])
  })

  it('shows every sample, the menu and the search without JavaScript', async (t) => {
    const { page } = await newVisitor(t, browser, { javaScript: false, width: 320, origins: [service.url] })
    await page.goto(QUICKSTART)
    const samples = page.locator('.code')
    for (const sample of await samples.all()) assert.ok(await sample.isVisible())
    assert.ok((await page.locator('.tabs .caption').count()) > 3)
    assert.equal(await page.locator('#key').isVisible(), false)
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Idempotency and retries' }).first().click()
    await page.getByRole('searchbox').fill('refund')
    await page.getByRole('searchbox').press('Enter')
    await page.getByText('results for “refund”').waitFor()
    await page.goto(QUICKSTART)
    const contents = page.locator('.contents a').first()
    assert.equal(await contents.isVisible(), false)
    await page.setViewportSize({ width: 1280, height: 800 })
    assert.ok(await contents.isVisible(), 'the table of contents is open in its own column')
  })

  it('fills the samples with the key from the address, and sends it to no server', async (t) => {
    const { page, problems } = await newVisitor(t, browser, { origins: [service.url] })
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.url()} ${JSON.stringify(request.headers())}`))
    await page.goto(`${QUICKSTART}#key=${KEY}`)
    const filled = page.locator('[data-fill="key"]').first()
    await page.getByText('The samples contain your test key.').waitFor()
    assert.equal(await filled.textContent(), KEY)
    assert.equal(page.url(), QUICKSTART)
    await page.goto(`${service.url}/docs/accept-a-payment`)
    assert.equal(await filled.textContent(), KEY)
    for (const other of [`${KEY}2`, 'x'.repeat(300)]) {
      await page.goto(`${QUICKSTART}?other#key=${other}`)
      await page.getByText('The samples contain your test key.').waitFor()
      assert.equal(await filled.textContent(), KEY, 'a link does not replace the key')
      await page.goto(`${service.url}/docs/accept-a-payment`)
    }
    await page.getByLabel('Your test key').fill('cowry_live_1')
    await page.getByRole('button', { name: 'Use' }).click()
    await page.getByText('This is not a test key.').waitFor()
    assert.equal(await filled.textContent(), KEY, 'a mistyped key does not replace the key')
    await page.getByRole('button', { name: 'Remove' }).click()
    assert.doesNotMatch((await filled.textContent()) ?? '', /secret/)
    await page.reload()
    assert.doesNotMatch((await filled.textContent()) ?? '', /secret/)
    assert.ok(sent.length > 2)
    assert.deepEqual(
      sent.filter((request) => request.includes('secret')),
      [],
    )
    assert.deepEqual(problems, [])
  })

  it('has copy buttons on samples and none on outputs', async (t) => {
    const { page } = await newVisitor(t, browser, { origins: [service.url] })
    await page.goto(QUICKSTART)
    await page.locator('.copy').first().waitFor()
    assert.equal(
      await page.locator('[data-language="bash"] .copy').count(),
      await page.locator('[data-language="bash"]').count(),
    )
    assert.ok((await page.locator('[data-language="text"]').count()) > 2)
    assert.equal(await page.locator('[data-language="text"] .copy').count(), 0)
  })

  it('keeps the chosen language of samples for other groups and pages', async (t) => {
    const { page } = await newVisitor(t, browser, { origins: [service.url] })
    await page.goto(QUICKSTART)
    await page.getByRole('tab', { name: 'Python' }).first().click()
    for (const path of ['quickstart', 'accept-a-payment']) {
      await page.goto(`${service.url}/docs/${path}`)
      const selected = await page.getByRole('tab', { selected: true }).allTextContents()
      assert.ok(selected.length > 0)
      assert.deepEqual([...new Set(selected)], ['Python'])
      assert.equal(await page.locator('.tabs [data-language="ts"]').first().isVisible(), false)
    }
    await page.getByRole('tab', { name: 'Python' }).first().press('ArrowRight')
    assert.equal(await page.getByRole('tab', { name: 'PHP' }).first().getAttribute('aria-selected'), 'true')
  })

  it('finds headings and error codes while the reader types, by keyboard', async (t) => {
    const { page, problems } = await newVisitor(t, browser, { origins: [service.url] })
    await page.goto(`${service.url}/docs`)
    await page.keyboard.press('/')
    await page.keyboard.type('duplicate_ref')
    await page.locator('#found a').first().waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${service.url}/docs/errors#duplicate_reference`)
    await page.getByRole('heading', { name: 'duplicate_reference' }).waitFor()
    assert.deepEqual(problems, [])
  })
})
