// The pages for developers in a real browser: they come from here alone, and nothing in them breaks the policy.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser } from './browser.ts'

const service = await testService({ after })
const browser = await startBrowser({ after })

it('shows the API reference and asks no other server for anything', async (t) => {
  const { page, complaints } = await newVisitor(t, browser, { origins: [service.url] })
  await page.goto(`${service.url}/`)
  await page.getByRole('link', { name: 'Read the API reference' }).click()
  await page.getByRole('heading', { name: 'Initiate a payment' }).waitFor()
  assert.deepEqual(complaints, [])
})

it('explains every error where its docUrl leads', async (t) => {
  const { page, complaints } = await newVisitor(t, browser, { origins: [service.url] })
  const refused = await service.apiWith(undefined).get('/api/v1/wallet/balance')
  await page.goto(refused.body.error.docUrl)
  await page.getByRole('heading', { name: 'missing_api_key' }).waitFor()
  assert.deepEqual(complaints, [])
})
