// The developers' pages in a real browser: they load from our origin only, and respect the policy.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import { sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser } from './browser.ts'

const service = await testService({ after })
const browser = await startBrowser({ after })

it('shows the API reference without a request to another server', async (t) => {
  const { page, problems } = await newVisitor(t, browser, { origins: [service.url] })
  await page.goto(`${service.url}/`)
  await page.getByRole('link', { name: 'API reference' }).click()
  await page.waitForURL('**/docs/api')
  await page.getByText('/api/v1/checkout/initiate-payment').first().click()
  await page.getByRole('heading', { name: 'Initiate a payment' }).waitFor()
  assert.deepEqual(problems, [])
})

it('explains every error at its docUrl', async (t) => {
  const { page, problems } = await newVisitor(t, browser, { origins: [service.url] })
  const refused = await service.apiWith(undefined).get('/api/v1/wallet/balance')
  await page.goto(refused.body.error.docUrl)
  await page.getByRole('heading', { name: 'missing_api_key' }).waitFor()
  assert.deepEqual(problems, [])
})

const SCHEMES = sized<readonly ('light' | 'dark')[]>({
  quick: ['light'],
  rest: ['light', 'dark'],
  long: ['light', 'dark'],
})

it(`shows the errors legibly in ${SCHEMES.join(' and ')}, also on a narrow phone`, async (t) => {
  const { page, problems } = await newVisitor(t, browser, { width: 320, origins: [service.url] })
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme })
    await page.goto(`${service.url}/docs/errors#payment_not_found`)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
    const { violations } = await new AxeBuilder({ page }).analyze()
    assert.deepEqual(
      violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]),
      [],
    )
  }
  assert.deepEqual(problems, [])
})
