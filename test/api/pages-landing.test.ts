import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { findTestShopId } from '../../src/secrets/demo-key.ts'
import { createPayer, headingOf, mainTextOf, type Page } from '../support/payer.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
// The demo merchant of the service, also where files share one.
const demoKey = (await readFile(join(service.dataDir, 'demo-key'), 'utf8')).trim()
const api = service.apiWith(demoKey)
const testShop = service.apiWith(await testShopKey())
const anonymous = service.apiWith(undefined)
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const LANDING = `${service.url}/`

async function visit() {
  const visitor = createPayer()
  return { visitor, landing: await visitor.open(LANDING) }
}

function referenceOn(page: Page): string {
  return /test-[0-9A-Za-z]{17}/.exec(mainTextOf(page))?.[0] ?? ''
}

function hiddenField(page: Page, name: string): string {
  return new RegExp(`name="${name}" value="([^"]+)"`).exec(page.html)?.[1] ?? ''
}

/** The test shop has no key of its own; operators can create one. */
async function testShopKey(): Promise<string> {
  const path = `/admin/v1/merchants/${await findTestShopId(service.db)}`
  const { name, status } = (await service.admin.get(path)).body.data
  assert.deepEqual([name, status], ['Test Shop', 'active'])
  return (await service.admin.post(`${path}/keys`, { scopes: ['*'] })).body.data.apiKey
}

async function countPayments(merchant = testShop): Promise<number> {
  return (await merchant.get('/api/v1/checkout/payments?limit=1')).body.meta.total
}

describe('the landing page', () => {
  it('describes the service and links only to existing pages', async () => {
    const { landing } = await visit()
    assert.equal(landing.http, 200)
    assert.equal(headingOf(landing), 'One API for payments across Africa and beyond')
    const links = [...landing.html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href = '']) => href)
    assert.ok(links.includes('/docs') && links.includes('/openapi.json'))
    for (const href of links) assert.equal((await anonymous.get(href)).http, 200, href)
  })

  it('has a curl that works as it is copied, with a key in it', async () => {
    const { landing } = await visit()
    const copied = /data-copy="([^"]+)"/.exec(landing.html)?.[1] ?? ''
    assert.ok(copied.startsWith(`curl ${service.url}/api/v1/checkout/initiate-payment`))
    const body = /-d &#39;([\s\S]+)&#39;$/.exec(copied)?.[1]?.replaceAll('&quot;', '"')
    const answer = await api.post('/api/v1/checkout/initiate-payment', JSON.parse(body ?? ''))
    assert.equal(answer.http, 201, answer.text)
    assert.ok(!landing.html.includes(demoKey), 'the page does not reveal the demo key')
  })
})

describe('a test payment of the landing page', () => {
  it('is paid with one click, and its page shows the events that followed', async () => {
    const { visitor, landing } = await visit()
    const page = await visitor.submit(landing, '/test-payments', { pay: 'card' })
    assert.equal(page.http, 200, page.html)
    assert.equal(headingOf(page), 'The test payment is paid')
    const reference = referenceOn(page)
    const { data } = (await testShop.get(`/api/v1/checkout/verify-payment?reference=${reference}`)).body
    assert.equal(data.status, 'successful')
    assert.equal(data.amountPaid, '1250.50')
    const events = (await testShop.get(`/api/v1/events?resource=${data.uuid}`)).body.data
    const types = events.map(({ type }: { type: string }) => type)
    assert.ok(types.includes('payment.successful'))
    for (const { id, type } of events)
      assert.ok(mainTextOf(page).includes(type) && mainTextOf(page).includes(id), `${type} is on the page`)
    const shown = [...page.html.matchAll(/<pre tabindex="0"><code>([\s\S]*?)<\/code>/g)].map(
      ([, text = '']) => JSON.parse(text.replaceAll('&quot;', '"')),
    )
    const newestFirst = (one: { id: string }, other: { id: string }) => (one.id < other.id ? 1 : -1)
    assert.deepEqual(shown.toSorted(newestFirst), events.toSorted(newestFirst))
    assert.deepEqual(Object.keys(shown[0]).slice(0, 4), ['id', 'type', 'apiVersion', 'mode'])
    assert.ok(!page.html.includes(demoKey))
  })

  it('is not among the payments, the events and the balance of the demo key', async () => {
    const events = async () => (await api.get('/api/v1/events?limit=1')).body.meta.total
    const balances = async () => (await api.get('/api/v1/wallet/balance')).body.data.balances
    const before = [await countPayments(api), await events(), await balances()]
    const { visitor, landing } = await visit()
    const page = await visitor.submit(landing, '/test-payments', { pay: 'card' })
    assert.equal(headingOf(page), 'The test payment is paid')
    assert.deepEqual([await countPayments(api), await events(), await balances()], before)
    const read = await api.get(`/api/v1/checkout/verify-payment?reference=${referenceOn(page)}`)
    assert.equal(read.body.error.code, 'payment_not_found')
  })

  it('can be paid on its checkout page, which returns to the page of the payment', async () => {
    const { visitor, landing } = await visit()
    const checkout = await visitor.submit(landing, '/test-payments', { pay: 'checkout' })
    assert.match(headingOf(checkout), /^Pay KSh 1,250\.50 to Test Shop$/)
    const waiting = await visitor.open(`${LANDING}test-payments/${hiddenField(landing, 'token')}`)
    assert.equal(headingOf(waiting), 'The test payment is not paid yet')
    const shownBefore = /data-shown="([^"]+)"/.exec(waiting.html)?.[1]
    const paid = await visitor.payByCard(checkout, 'card_success')
    const back = /href="([^"]+test-payments[^"]+)"/.exec(paid.html)?.[1] ?? ''
    const page = await visitor.open(back.replaceAll('&amp;', '&'))
    assert.equal(headingOf(page), 'The test payment is paid')
    const status = await anonymous.get(`${new URL(page.url).pathname}/status`)
    assert.notEqual(status.body.shown, shownBefore, 'the script of the waiting page reloads it')
    assert.equal(status.body.shown, /data-shown="([^"]+)"/.exec(page.html)?.[1])
  })

  it('is one payment when the form is submitted twice, also at the same time', async () => {
    const { visitor, landing } = await visit()
    const before = await countPayments()
    const submit = () => visitor.submit(landing, '/test-payments', { pay: 'card' })
    const pages = await Promise.all([submit(), submit(), submit()])
    assert.equal(await countPayments(), before + 1)
    const page = await visitor.submit(landing, '/test-payments', { pay: 'card' })
    assert.equal(headingOf(page), 'The test payment is paid')
    assert.ok(pages.every(({ http }) => http === 200))
  })

  it('is not started by a form of another site, to which the browser adds no cookie', async () => {
    const before = await countPayments()
    const { landing } = await visit()
    const [visitor, token] = [hiddenField(landing, 'visitor'), hiddenField(landing, 'token')]
    assert.match(landing.headers.get('set-cookie') ?? '', /^cowry_visitor=[^;]+;.*HttpOnly; SameSite=Lax/)
    const forged = `visitor=${visitor}&token=${token}`
    const attempts = [
      anonymous.postText('/test-payments', forged, FORM),
      anonymous.postText('/test-payments', forged, { ...FORM, cookie: `cowry_visitor=${'B'.repeat(22)}` }),
      anonymous.postText('/test-payments', `token=${token}`, FORM),
      anonymous.postText('/test-payments', `visitor=${visitor}&token=x`, {
        ...FORM,
        cookie: `cowry_visitor=${visitor}`,
      }),
    ]
    for (const { http, headers } of await Promise.all(attempts)) {
      assert.equal(http, 303)
      assert.equal(headers.get('location'), '/?problem=cookie')
    }
    assert.match(mainTextOf(await createPayer().open(`${LANDING}?problem=cookie`)), /did not send the cookie/)
    assert.equal(await countPayments(), before)
  })

  it('is the only payment that a visitor can see', async () => {
    const made = await testShop.post('/api/v1/checkout/initiate-payment', {
      ...{ amount: 10, currency: 'KES', reference: 'A'.repeat(22) },
      customer: { email: 'a@example.com', firstname: 'A', lastname: 'B' },
    })
    assert.equal(made.http, 201, made.text)
    const { uuid, reference } = made.body.data
    for (const token of [reference, uuid, 'x', '__proto__', 'A'.repeat(23)]) {
      assert.equal((await anonymous.get(`/test-payments/${token}`)).http, 404, token)
      assert.equal((await anonymous.get(`/test-payments/${token}/status`)).http, 404, token)
    }
  })

  it('is limited per visitor', async () => {
    const { visitor } = await visit()
    const statuses: number[] = []
    for (let n = 0; n < 11; n += 1) {
      const landing = await visitor.open(LANDING)
      statuses.push((await visitor.postForm(landing, '/test-payments', { pay: 'checkout' })).http)
    }
    assert.equal(statuses.at(-1), 429)
  })
})
