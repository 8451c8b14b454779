import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createPayer } from '../support/payer.ts'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser } from './browser.ts'

const service = await testService({ after })
const browser = await startBrowser({ after })

describe('a test payment of the landing page in a browser', () => {
  it('shows its new events by itself, while it is paid elsewhere', async (t) => {
    const payer = createPayer()
    const landing = await payer.open(service.url)
    const checkout = await payer.submit(landing, '/test-payments', { pay: 'checkout' })
    const [, token] = /name="token" value="([^"]+)"/.exec(landing.html) ?? []
    const { page, problems } = await newVisitor(t, browser, { origins: [service.url] })
    await page.goto(`${service.url}/test-payments/${token}`)
    await page.getByRole('heading', { name: 'The test payment is not paid yet' }).waitFor()
    await payer.payByCard(checkout, 'card_success')
    await page.getByRole('heading', { name: 'The test payment is paid' }).waitFor()
    await page.getByText('payment.successful', { exact: true }).waitFor()
    assert.deepEqual(problems, [])
  })

  it('is paid with one click, and the curl beside it can be copied', async (t) => {
    const { page, problems } = await newVisitor(t, browser, { origins: [service.url] })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(service.url)
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await page.getByRole('button', { name: 'Pay a test payment' }).click()
    await page.getByRole('heading', { name: 'The test payment is paid' }).waitFor()
    assert.deepEqual(problems, [])
  })
})
