import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { LOCALES } from '../../src/pages/locales.ts'
import { assertApiError, assertSameApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { initiateBody, payWith } from '../support/builders.ts'
import { createPayer, headingOf, mainTextOf, openCheckout } from '../support/payer.ts'
import { eventsOf, pathOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api, db } = service
const payer = createPayer()
const INITIATE = '/api/v1/checkout/initiate-payment'
const cancelPath = (uuid: string) => `/api/v1/checkout/payments/${uuid}/cancel`

async function initiate(by = api) {
  const { data } = (await by.post(INITIATE, initiateBody())).body
  return data
}

describe('POST /api/v1/checkout/payments/{uuid}/cancel', () => {
  it('rejects the cancellation of a payment without a key', async () => {
    assertApiError(await service.apiWith(undefined).post(cancelPath(UNKNOWN_UUID), {}), 'missing_api_key')
  })

  it('answers the same for the cancellation of another merchant’s payment as for an unknown one', async () => {
    const { uuid } = await initiate()
    const { api: other } = await service.newMerchant()
    const theirs = await other.post(cancelPath(uuid), {})
    assertSameApiError(theirs, await other.post(cancelPath(UNKNOWN_UUID), {}), 'payment_not_found')
    assert.deepEqual(await pathOf(db, uuid), ['pending'])
  })

  it('abandons an open payment once, with one event, and the payer can no longer pay', async () => {
    const { uuid, checkoutUrl } = await initiate()
    const answers = await Promise.all(Array.from({ length: 5 }, () => api.post(cancelPath(uuid), {})))
    for (const { http, body } of answers)
      assert.deepEqual(
        [http, body.data.status, body.data.statusReason],
        [200, 'abandoned', 'merchant_cancelled'],
      )
    const replayed = answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')
    assert.equal(replayed.length, 4)
    assert.deepEqual(await pathOf(db, uuid), ['pending', 'abandoned'])
    assert.equal((await eventsOf(db, uuid)).at(-1)?.type, 'payment.abandoned')
    const page = await payer.open(checkoutUrl)
    assert.equal(headingOf(page), 'Payment cancelled')
    assert.ok(!page.html.includes('<form'))
  })

  it('stops the attempt of a payer at the gateway first', async () => {
    const { page, uuid, checkoutUrl } = await openCheckout(api, payer)
    const cardPage = await payer.goToCardPage(page)
    const { body } = await api.post(cancelPath(uuid), {})
    assert.equal(body.data.status, 'abandoned')
    assert.equal(body.data.attempts[0].status, 'declined')
    const late = await payer.submit(cardPage, '', { instrument: 'card_success', action: 'pay' })
    assert.equal(headingOf(late), 'Payment cancelled')
    assert.equal((await payer.open(checkoutUrl)).http, 200)
  })

  it('rejects the cancellation of a paid payment and of a charge', async () => {
    const paid = await payWith(api, 'card_success')
    const answer = await api.post(cancelPath(paid.uuid), {})
    assertApiError(answer, 'invalid_state')
    assert.match(answer.body.message, /successful/)
  })

  it('says in the message of a replay that the payment has ended, and what to do', async () => {
    const body = initiateBody()
    const { uuid } = (await api.post(INITIATE, body)).body.data
    await api.post(cancelPath(uuid), {})
    const again = await api.post(INITIATE, body)
    assert.deepEqual([again.http, again.body.data.uuid], [201, uuid])
    assert.match(again.body.message, /ended unpaid: it is abandoned\. A new try takes a new reference\./)
  })
})

describe('a suspended merchant', () => {
  it('collects nothing at an open checkout, whose page says so in every language, and gets no more time', async () => {
    const { uuid: merchant, api: shop } = await service.newMerchant()
    const opened = await openCheckout(shop, payer)
    const prompted = await openCheckout(shop, payer)
    await payer.choose(prompted.page, 'mobile_success')
    await service.admin.post(`/admin/v1/merchants/${merchant}/suspend`, {})
    const after = await payer.submit(opened.page, '/attempts', { channel: 'card' })
    assert.equal(headingOf(after), 'Payments are paused')
    assert.match(mainTextOf(after), /Another Shop cannot take payments at the moment/)
    assert.ok(!after.html.includes('<form'))
    for (const [language, { messages }] of Object.entries(LOCALES)) {
      const page = await payer.open(`${opened.checkoutUrl}?lang=${language}`)
      assert.equal(headingOf(page), messages.suspendedTitle, language)
    }
    const before = await expiryOf(opened.uuid)
    await payer.postForm(opened.page, '/extend', {})
    assert.deepEqual(await expiryOf(opened.uuid), before)
    assert.deepEqual(await pathOf(db, opened.uuid), ['pending'])
    // Money of an attempt that was in progress is recorded.
    await eventually(
      () => pathOf(db, prompted.uuid),
      (path) => path.at(-1) === 'successful',
      20_000,
    )
    await service.admin.post(`/admin/v1/merchants/${merchant}/activate`, {})
    assert.match(headingOf(await payer.open(`${opened.checkoutUrl}?lang=en`)), /^Pay /)
  })
})

const selectExpiry = sql<{ expiresAt: Date }>`select expires_at as "expiresAt" from payments where id = $1`

async function expiryOf(uuid: string): Promise<Date | undefined> {
  return (await db.query(selectExpiry, [uuid]))[0]?.expiresAt
}
