import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { PaymentRecord } from '../../src/payments/schema.ts'
import {
  assertApiError,
  assertFields,
  assertKeys,
  assertSameApiError,
  ISO_TIME,
  UNKNOWN_UUID,
  UUID_V7,
} from '../support/assertions.ts'
import { chargeBody, initiateBody, payWith, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service

const PAYMENT_FIELDS = [
  ...['uuid', 'reference', 'status', 'sourceAmount', 'sourceCurrency', 'country', 'paymentGateway'],
  ...[
    'checkoutUrl',
    'accessCode',
    'isRecurring',
    'offerSavedMethods',
    'description',
    'metadata',
    'redirectUrl',
    'customer',
  ],
  ...[
    'expiresAt',
    'createdAt',
    'statusReason',
    'amountPaid',
    'fee',
    'netAmount',
    'paidAt',
    'receiptCode',
    'failure',
  ],
  ...['channel', 'gatewayReference', 'receiptNumber', 'gatewayKey'],
  ...['attempts', 'refundedAmount', 'paymentMethod', 'paymentLink'],
]
const METHOD_FIELDS = [
  ...['uuid', 'type', 'status', 'label', 'recurringToken', 'isDefault', 'paymentGateway', 'currencies'],
  ...[
    'card',
    'mobileMoney',
    'bankAccount',
    'isRecurringIntent',
    'consent',
    'expiresAt',
    'lastUsedAt',
    'createdAt',
  ],
]
const ATTEMPT_FIELDS = [
  ...['uuid', 'paymentGateway', 'channel', 'status', 'failureCode', 'startedAt', 'endedAt', 'refundedAmount'],
  ...['gatewayReference', 'receiptNumber', 'gatewayKey'],
]

const verifyPath = (query: string) => `/api/v1/checkout/verify-payment${query}`
const storedPath = (uuid: string) => `/api/v1/checkout/payments/${uuid}`

async function initiate(changes: Record<string, unknown> = {}) {
  return (await api.post('/api/v1/checkout/initiate-payment', initiateBody(changes))).body.data
}

async function verify(query: string) {
  const answer = await api.get(verifyPath(query))
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

describe('GET /api/v1/checkout/verify-payment', () => {
  it('rejects verify without a key', async () => {
    assertApiError(await service.apiWith(undefined).get(verifyPath('?reference=r')), 'missing_api_key')
  })

  it('answers the same for another merchant’s payment as for an unknown one, by reference and by uuid', async () => {
    const { reference, uuid } = await initiate()
    const { api: other } = await service.newMerchant()
    const unknown = await other.get(verifyPath('?reference=nothing'))
    assertSameApiError(await other.get(verifyPath(`?reference=${reference}`)), unknown, 'payment_not_found')
    assertSameApiError(await other.get(verifyPath(`?uuid=${uuid}`)), unknown, 'payment_not_found')
    assertSameApiError(await other.get(verifyPath(`?uuid=${UNKNOWN_UUID}`)), unknown, 'payment_not_found')
  })

  it('requires the scope checkout:read to verify, and names it', async () => {
    const { api: reader } = await service.newMerchant(['wallet:read', 'charges:write'])
    const answer = await reader.get(verifyPath('?reference=r'))
    assertApiError(answer, 'insufficient_scope')
    assert.match(answer.body.message, /checkout:read/)
  })

  it('finds a payment by its reference, whatever its characters, or by its uuid', async () => {
    const reference = 'Order 7/ä?&=+%#1'
    const payment = await initiate({ reference })
    assert.equal((await verify(`?reference=${encodeURIComponent(reference)}`)).uuid, payment.uuid)
    assert.equal((await verify(`?uuid=${payment.uuid}`)).reference, reference)
  })

  it('answers missing_reference without reference and uuid', async () => {
    for (const query of ['', '?', '?&']) {
      const details = assertApiError(await api.get(verifyPath(query)), 'missing_reference')
      assert.deepEqual(details, ['reference: missing_reference'])
    }
  })

  it('finds a payment by a reference and a uuid that both name it, open or final, and a charge too', async () => {
    const charge = chargeBody(await saveMethod(api, 'card_success'))
    const charged = (await api.post('/api/v1/charges/recurring', charge)).body.data
    for (const { reference, uuid } of [await initiate(), await payWith(api, 'card_success'), charged])
      assert.equal((await verify(`?reference=${reference}&uuid=${uuid}`)).uuid, uuid)
  })

  it('rejects a reference and a uuid that name different payments, and names the field', async () => {
    const [one, other] = [await initiate(), await initiate()]
    const { api: stranger } = await service.newMerchant()
    const { data: foreign } = (await stranger.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    // The response does not say whether anybody has such a payment.
    for (const reference of [other.reference, foreign.reference, 'nothing']) {
      const answer = await api.get(verifyPath(`?reference=${reference}&uuid=${one.uuid}`))
      assert.deepEqual(assertApiError(answer, 'validation_failed'), ['reference: validation_failed'])
      assert.equal(answer.body.message, 'uuid and reference name different payments; send one of them.')
    }
  })

  it('answers payment_not_found for a uuid of no payment, also beside the reference of one', async () => {
    const { reference } = await initiate()
    const { api: stranger } = await service.newMerchant()
    const { data: foreign } = (await stranger.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    for (const uuid of [UNKNOWN_UUID, foreign.uuid])
      assertApiError(await api.get(verifyPath(`?reference=${reference}&uuid=${uuid}`)), 'payment_not_found')
  })

  it('rejects a malformed uuid, an invalid reference and a repeated parameter', async () => {
    for (const uuid of ['nonsense', UNKNOWN_UUID.toUpperCase(), `{${UNKNOWN_UUID}}`, '']) {
      const answer = await api.get(verifyPath(`?uuid=${encodeURIComponent(uuid)}`))
      assert.deepEqual(assertApiError(answer, 'invalid_uuid'), ['uuid: invalid_uuid'])
    }
    const long = await api.get(verifyPath(`?reference=${'x'.repeat(101)}`))
    assert.deepEqual(assertApiError(long, 'validation_failed'), ['reference: too_long'])
    const twice = await api.get(verifyPath('?reference=a&reference=b'))
    assert.deepEqual(assertApiError(twice, 'validation_failed'), ['reference: repeated'])
  })

  it('returns an open payment with the initiate record and no paid amount', async () => {
    const initiated = await initiate({ metadata: { a: 1 } })
    const answer = await api.get(verifyPath(`?reference=${initiated.reference}`))
    assertKeys(answer.body, ['status', 'message', 'data'])
    assert.equal(answer.body.status, 'success')
    assertFields(answer.body.data, PAYMENT_FIELDS, PaymentRecord)
    assert.deepEqual(answer.body.data, {
      ...initiated,
      statusReason: null,
      amountPaid: null,
      amountReceived: null,
      fee: null,
      netAmount: null,
      paidAt: null,
      receiptCode: null,
      failure: null,
      channel: null,
      gatewayReference: null,
      receiptNumber: null,
      gatewayKey: null,
      attempts: [],
      refundedAmount: '0.00',
      paymentMethod: null,
      paymentLink: null,
    })
  })

  it('returns a paid payment with its amount, channel and method', async () => {
    const paid = await payWith(api, 'card_success', { isRecurring: true })
    const data = await verify(`?reference=${paid.reference}`)
    assert.deepEqual(data, paid, 'the same record that the sandbox returned')
    assertFields(data, PAYMENT_FIELDS, PaymentRecord)
    assert.equal(data.status, 'successful')
    assert.equal(data.statusReason, null)
    assert.equal(data.amountPaid, '1250.50')
    // No table and no provider named a fee: it is unknown, and not zero.
    assert.deepEqual([data.fee, data.netAmount], [null, null])
    assert.match(data.gatewayReference, UUID_V7)
    assert.equal(data.gatewayKey, data.attempts[0].gatewayKey)
    assert.match(data.paidAt, ISO_TIME)
    assert.equal(data.failure, null)
    const [attempt, ...others] = data.attempts
    assert.deepEqual(others, [])
    assertKeys(attempt, ATTEMPT_FIELDS)
    assert.match(attempt.uuid, UUID_V7)
    assert.equal(attempt.paymentGateway, 'sandbox')
    assert.equal(attempt.channel, 'card')
    assert.equal(attempt.status, 'succeeded')
    assert.equal(attempt.failureCode, null)
    assert.match(attempt.startedAt, ISO_TIME)
    assert.match(attempt.endedAt, ISO_TIME)
  })

  it('returns the saved method with its recurring token, whatever isRecurring was', async () => {
    for (const isRecurring of [true, false]) {
      const customer = { email: `saved-${isRecurring}@example.com`, firstname: 'Zawadi', lastname: 'Njeri' }
      const { paymentMethod: method } = await payWith(api, 'card_success', { isRecurring, customer })
      assertKeys(method, METHOD_FIELDS)
      assertKeys(method.card, ['brand', 'last4', 'expiryMonth', 'expiryYear', 'country'])
      assert.match(method.recurringToken, /^rtk_[0-9A-Za-z]{43}$/)
      assert.match(method.uuid, UUID_V7)
      assert.equal(method.type, 'card')
      assert.equal(method.status, 'active')
      assert.equal(method.isDefault, true)
      assert.equal(method.isRecurringIntent, isRecurring)
      assert.equal(method.currencies.length, 28)
      assert.equal(method.mobileMoney, null)
      assert.equal(method.bankAccount, null)
      assert.deepEqual([method.card.brand, method.card.last4], ['visa', '4242'])
      for (const time of [method.expiresAt, method.lastUsedAt, method.createdAt]) assert.match(time, ISO_TIME)
    }
  })

  it('returns a charge too, by its reference or uuid', async () => {
    const body = chargeBody(await saveMethod(api, 'card_success'))
    const charge = (await api.post('/api/v1/charges/recurring', body)).body.data
    for (const query of [`?reference=${body.reference}`, `?uuid=${charge.uuid}`]) {
      const data = await verify(query)
      assertFields(data, PAYMENT_FIELDS, PaymentRecord)
      assert.equal(data.uuid, charge.uuid)
      assert.equal(data.status, 'successful')
      assert.equal(data.amountPaid, '100.00')
      assert.equal(data.checkoutUrl, null)
      assert.equal(data.accessCode, null)
      assert.equal(data.expiresAt, null)
      assert.equal(data.attempts[0].channel, 'saved')
    }
  })
})

describe('GET /api/v1/checkout/payments/{uuid}', () => {
  it('rejects reading a payment without a key', async () => {
    assertApiError(await service.apiWith(undefined).get(storedPath(UNKNOWN_UUID)), 'missing_api_key')
  })

  it('answers the same for reading another merchant’s payment as for an unknown one', async () => {
    const { uuid } = await initiate()
    const { api: other } = await service.newMerchant()
    const unknown = await other.get(storedPath(UNKNOWN_UUID))
    assertSameApiError(await other.get(storedPath(uuid)), unknown, 'payment_not_found')
  })

  it('reads the same record as verify', async () => {
    const paid = await payWith(api, 'card_success')
    const answer = await api.get(storedPath(paid.uuid))
    assert.equal(answer.http, 200)
    assertKeys(answer.body, ['status', 'message', 'data'])
    assert.deepEqual(answer.body.data, await verify(`?uuid=${paid.uuid}`))
  })

  it('rejects a malformed uuid of a payment, and does not return a charge as a payment', async () => {
    assert.deepEqual(assertApiError(await api.get(storedPath('nonsense')), 'invalid_uuid'), [
      'uuid: invalid_uuid',
    ])
    const body = chargeBody(await saveMethod(api, 'card_success'))
    const charge = (await api.post('/api/v1/charges/recurring', body)).body.data
    assertApiError(await api.get(storedPath(charge.uuid)), 'payment_not_found')
  })

  it('requires the scope checkout:read to read a payment', async () => {
    const { api: reader } = await service.newMerchant(['charges:write'])
    assertApiError(await reader.get(storedPath(UNKNOWN_UUID)), 'insufficient_scope')
  })
})
