// The size of every screen of the dashboard over the network, with headers: lists have fifty rows.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { request } from 'undici'
import { CUSTOMER, newReference, payWith } from '../support/builders.ts'
import { signInAs, signInAsOperator } from '../support/dashboard.ts'
import { crawl, shownPages } from '../support/dashboard-crawl.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { testService } from '../support/service.ts'

const KILOBYTE = 1_024
const LIMITS = { cold: 25 * KILOBYTE, warm: 8 * KILOBYTE }
const ROWS = 50
const AT_ONCE = 10

const service = await testService({ after })
const merchant = await service.newMerchant()
await makeOneOfEverything(merchant.api, 'Owned')
for (let made = 0; made < ROWS; made += AT_ONCE)
  await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => makeRow(made + index)))
const owner = await signInAs(service, merchant.uuid)
// The same browser in both areas.
await signInAsOperator(service, owner)
const cookie = [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

/** A payment of another customer, with a refund. */
async function makeRow(index: number): Promise<void> {
  const customer = { ...CUSTOMER, email: `payer-${index}@example.com`, firstname: `Wanjiru ${index}` }
  const { reference } = await payWith(merchant.api, 'card_success', {
    customer,
    description: `Order ${index}`,
  })
  const refund = {
    paymentReference: reference,
    refundReference: newReference(),
    amount: 1 + index,
    reason: `Broken ${index}`,
  }
  const answer = await merchant.api.post('/api/v1/refunds', refund)
  assert.equal(answer.http, 201, answer.text)
}

/** The bytes of the response as a browser gets it. */
async function weigh(path: string, language = 'en'): Promise<{ bytes: number; encoding: unknown }> {
  const { statusCode, headers, body } = await request(`${service.url}${path}`, {
    headers: {
      cookie: `${cookie}; cowry_app_language=${language}`,
      accept: 'text/html',
      'accept-encoding': 'gzip, deflate, br, zstd',
    },
  })
  assert.equal(statusCode, 200, path)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const { byteLength } = await body.arrayBuffer()
  return { bytes: byteLength + lines.join('').length, encoding: headers['content-encoding'] }
}

describe('the size of the dashboard', () => {
  it('stays within the limits on every screen of both areas, in English and in Arabic', async (t) => {
    const { text } = await owner.get('/app/payments')
    assert.equal(text.split('<tr>').length - 2, ROWS)
    const assets = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    assert.equal(assets.length, 2)
    const weights = await Promise.all(assets.map((path) => weigh(path)))
    const shared = weights.reduce((sum, { bytes }) => sum + bytes, 0)
    const found = [await crawl(owner), await crawl(owner, '/ops')]
    const pages = found.flatMap(shownPages).flat()
    const heavy: string[] = []
    for (const page of pages)
      for (const language of ['en', 'ar']) {
        const { bytes, encoding } = await weigh(page, language)
        const name = `${page} in ${language}`
        assert.ok(encoding, `${name} is compressed`)
        t.diagnostic(`${name}: ${bytes} warm, ${bytes + shared} cold`)
        if (bytes > LIMITS.warm || bytes + shared > LIMITS.cold) heavy.push(`${name}: ${bytes} + ${shared}`)
      }
    assert.deepEqual(heavy, [])
  })
})
