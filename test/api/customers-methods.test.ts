import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { CURRENCY_CODES } from '../../src/core/currency.ts'
import { EVENT, type StoredEvent, toEventRow } from '../../src/events/event.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Api, ApiResponse } from '../support/api.ts'
import { CUSTOMER, chargeBody, payWith, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const SAVING_INSTRUMENTS = [
  'card_success',
  'card_3ds',
  'card_declined_later',
  'card_auth_required_later',
  'card_lost_answer_later',
  'card_slow_later',
]

async function methodsOf(api: Api, customerUuid: string): Promise<ApiResponse> {
  const answer = await api.get(`/api/v1/customers/${customerUuid}/payment-methods`)
  assert.equal(answer.http, 200, answer.text)
  return answer
}

describe('the saved payment method', () => {
  it('returns a saved method with exactly the fields of the contract', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const { body } = await methodsOf(api, paid.customer.uuid)
    const [{ uuid, recurringToken, consent, expiresAt, lastUsedAt, createdAt }] = body.data
    const expiryYear = new Date().getUTCFullYear() + 4
    assert.deepEqual(body, {
      status: 'success',
      message: 'Payment methods retrieved.',
      data: [
        {
          uuid,
          type: 'card',
          status: 'active',
          label: 'visa •••• 4242',
          recurringToken,
          isDefault: true,
          paymentGateway: 'sandbox',
          currencies: CURRENCY_CODES,
          card: { brand: 'visa', last4: '4242', expiryMonth: 12, expiryYear, country: 'KE' },
          mobileMoney: null,
          bankAccount: null,
          isRecurringIntent: false,
          consent,
          expiresAt,
          lastUsedAt,
          createdAt,
        },
      ],
      meta: {
        page: 1,
        limit: 1,
        total: 1,
        totalIsCapped: false,
        pageCount: 1,
        hasNext: false,
        hasPrevious: false,
        nextCursor: null,
      },
    })
    assert.match(recurringToken, /^rtk_[0-9A-Za-z]{43}$/)
    assert.equal(expiresAt, `${expiryYear + 1}-01-01T00:00:00.000Z`)
    assert.deepEqual(body.data[0], paid.paymentMethod)
  })

  it('lists no methods for a customer who saved none, with matching meta', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'mobile_success')
    assert.equal(paid.paymentMethod, null)
    const { body } = await methodsOf(api, paid.customer.uuid)
    assert.deepEqual(body.data, [])
    assert.equal(body.meta.total, 0)
    assert.equal(body.meta.pageCount, 0)
  })

  it('keeps one method with one token when the same card is saved again', async () => {
    const { api } = await service.newMerchant()
    const first = await payWith(api, 'card_success')
    const second = await payWith(api, 'card_success')
    assert.equal(second.paymentMethod.uuid, first.paymentMethod.uuid)
    assert.equal(second.paymentMethod.recurringToken, first.paymentMethod.recurringToken)
    const { body } = await methodsOf(api, first.customer.uuid)
    assert.equal(body.data.length, 1)
    assert.equal(body.data[0].createdAt, first.paymentMethod.createdAt)
    assert.ok(body.data[0].lastUsedAt >= first.paymentMethod.lastUsedAt)
  })

  it('keeps one method when parallel payments save the same card', async () => {
    const { api } = await service.newMerchant()
    const tokens = await Promise.all(Array.from({ length: 8 }, () => saveMethod(api, 'card_success')))
    assert.equal(new Set(tokens).size, 1)
  })

  it('issues another token for another customer and for another merchant', async () => {
    const [one, two] = [await service.newMerchant(), await service.newMerchant()]
    const customer = { ...CUSTOMER, email: 'brother@example.com' }
    const tokens = [
      await saveMethod(one.api, 'card_success'),
      await saveMethod(one.api, 'card_success', { customer }),
      await saveMethod(two.api, 'card_success'),
    ]
    assert.equal(new Set(tokens).size, 3)
  })

  it('keeps isRecurring once a merchant has requested it', async () => {
    const { api } = await service.newMerchant()
    assert.equal((await payWith(api, 'card_success')).paymentMethod.isRecurringIntent, false)
    const meant = await payWith(api, 'card_success', { isRecurring: true })
    assert.equal(meant.paymentMethod.isRecurringIntent, true)
    const withoutIntent = await payWith(api, 'card_success', { isRecurring: false })
    assert.equal(withoutIntent.paymentMethod.isRecurringIntent, true)
  })

  it('lists methods newest first, with the first saved one as the default', async () => {
    const { api } = await service.newMerchant()
    let customerUuid = ''
    for (const instrument of SAVING_INSTRUMENTS) {
      customerUuid = (await payWith(api, instrument)).customer.uuid
    }
    const { data, meta } = (await methodsOf(api, customerUuid)).body
    assert.deepEqual(
      data.map(({ card }: { card: { last4: string } }) => card.last4),
      ['0259', '0119', '3184', '0341', '3155', '4242'],
    )
    assert.deepEqual(
      data.map(({ isDefault }: { isDefault: boolean }) => isDefault),
      [false, false, false, false, false, true],
    )
    assert.equal(meta.total, 6)
  })

  it('records when a charge last used a method', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const token = paid.paymentMethod.recurringToken
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(token))
    assert.equal(charge.body.data.status, 'successful')
    const [method] = (await methodsOf(api, paid.customer.uuid)).body.data
    assert.ok(method.lastUsedAt > paid.paymentMethod.lastUsedAt, method.lastUsedAt)
  })

  it('marks a method as expired after its last month', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const expire = sql`update payment_methods set expires_at = now() - interval '1 second' where id = $1`
    await service.db.query(expire, [paid.paymentMethod.uuid])
    const [method] = (await methodsOf(api, paid.customer.uuid)).body.data
    assert.equal(method.status, 'expired')
    assert.equal(method.recurringToken, paid.paymentMethod.recurringToken)
  })

  it('never returns the gateway’s own token', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const { uuid, reference, customer, paymentMethod } = paid
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(paymentMethod.recurringToken))
    const answers = [
      charge,
      await api.get(`/api/v1/charges/${charge.body.data.uuid}`),
      await api.get(`/api/v1/checkout/verify-payment?reference=${reference}`),
      await api.get(`/api/v1/checkout/payments/${uuid}`),
      await api.get(`/api/v1/customers/${customer.uuid}`),
      await methodsOf(api, customer.uuid),
      await api.get('/api/v1/customers'),
      await api.get(`/api/v1/sandbox/executions?reference=${reference}`),
      await service.apiWith(undefined).get(new URL(paid.checkoutUrl).pathname),
    ]
    const credential = await credentialOf(uuid)
    for (const { http, text } of answers) {
      assert.ok(http < 300)
      assert.ok(!text.includes(credential) && !/tok_[0-9a-f]/.test(text), text)
    }
    const methods = sql<{ text: string }>`select m::text as text from payment_methods m`
    const events = sql<StoredEvent>`select ${EVENT.select()} from events`
    const stored = [
      ...(await service.db.query(methods)).map((row) => row.text),
      ...(await service.db.query(events)).map((event) => JSON.stringify(toEventRow(event))),
    ]
    const text = stored.join('')
    assert.ok(text.includes(uuid) && !text.includes(credential), 'it is stored encrypted')
    assert.ok(!text.includes(paymentMethod.recurringToken), 'ours is stored encrypted too')
  })
})

/** The provider's own token for the card. */
async function credentialOf(paymentId: string): Promise<string> {
  const keyOf = sql<{ key: string }>`select gateway_key as key from attempts where payment_id = $1`
  const secretOf = sql<{ value: string }>`select value from service_secrets where name = 'sandbox_secret'`
  const [attempt] = await service.db.query(keyOf, [paymentId])
  const [secret] = await service.db.query(secretOf)
  const answer = await service.apiWith(undefined).get(`/sandbox/v1/payments/${attempt?.key}`, {
    authorization: `Bearer ${secret?.value}`,
  })
  assert.match(answer.body.card.token, /^tok_[0-9a-f]{32}\.card_success$/)
  return answer.body.card.token
}
