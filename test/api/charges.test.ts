import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  assertApiError,
  assertKeys,
  assertNothingStored,
  assertSameApiError,
  ISO_TIME,
  UNKNOWN_UUID,
  UUID_V7,
} from '../support/assertions.ts'
import { CUSTOMER, chargeBody, payWith, saveMethod } from '../support/builders.ts'
import { pathOf, postingsOf } from '../support/payment-records.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const PATH = '/api/v1/charges/recurring'
const UNKNOWN_TOKEN = `rtk_${'0'.repeat(43)}`

const CHARGE_FIELDS = [
  'uuid',
  'reference',
  'status',
  'sourceAmount',
  'sourceCurrency',
  'paymentGateway',
  'customer',
  'createdAt',
  'statusReason',
  'amountPaid',
  'amountReceived',
  'fee',
  'netAmount',
  'paidAt',
  'receiptCode',
  'channel',
  'gatewayReference',
  'receiptNumber',
  'gatewayKey',
  'failure',
  'refundedAmount',
  'description',
  'metadata',
  'paymentMethod',
  'recovery',
]

const token = await saveMethod(api, 'card_success')

async function charge(changes: Record<string, unknown> = {}) {
  const answer = await api.post(PATH, chargeBody(token, changes))
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

describe('POST /api/v1/charges/recurring', () => {
  it('rejects a charge without a key, and stores nothing', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      assertApiError(await service.apiWith(undefined).post(PATH, chargeBody(token)), 'missing_api_key')
    })
  })

  it('answers the same for the token of another merchant as for an unknown one', async () => {
    const other = await service.newMerchant()
    await assertNothingStored(service.db, other.key, async () => {
      const theirs = await other.api.post(PATH, chargeBody(token))
      const unknown = await other.api.post(PATH, chargeBody(UNKNOWN_TOKEN))
      assertSameApiError(theirs, unknown, 'recurring_token_not_found')
    })
  })

  it('requires the scope charges:write to charge, and names it', async () => {
    const { api: other } = await service.newMerchant(['checkout:write', 'checkout:read'])
    const answer = await other.post(PATH, chargeBody(token))
    assertApiError(answer, 'insufficient_scope')
    assert.match(answer.body.message, /charges:write/)
  })

  it('answers a charge with 201, the envelope and exactly the documented fields', async () => {
    const answer = await api.post(PATH, chargeBody(token))
    assert.equal(answer.http, 201)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    assertKeys(answer.body, ['status', 'message', 'data'])
    assert.equal(answer.body.status, 'success')
    const { data } = answer.body
    assertKeys(data, CHARGE_FIELDS)
    assertKeys(data.customer, ['uuid', 'firstname', 'lastname', 'email'])
    assertKeys(data.paymentMethod, ['uuid', 'type', 'label'])
    for (const uuid of [data.uuid, data.customer.uuid, data.paymentMethod.uuid]) assert.match(uuid, UUID_V7)
    for (const time of [data.createdAt, data.paidAt]) assert.match(time, ISO_TIME)
  })

  it('charges the saved card at once, without the customer', async () => {
    const asked = { reference: 'again-1', metadata: { month: 7 }, description: 'July', amount: 12.5 }
    const data = await charge(asked)
    assert.equal(data.status, 'successful')
    assert.equal(data.reference, 'again-1')
    assert.deepEqual(data.metadata, { month: 7 })
    assert.equal(data.description, 'July')
    assert.equal(data.sourceAmount, '12.50')
    assert.equal(data.sourceCurrency, 'KES')
    assert.equal(data.paymentGateway, 'sandbox')
    assert.equal(data.amountPaid, '12.50')
    assert.deepEqual([data.fee, data.netAmount], [null, null])
    assert.ok(data.gatewayReference)
    assert.ok(data.gatewayKey)
    assert.equal(data.failure, null)
    assert.equal(data.statusReason, null)
    assert.equal(data.recovery, null)
    assert.equal(data.paymentMethod.type, 'card')
    assert.match(data.paymentMethod.label, /4242$/)
    assert.deepEqual(await pathOf(service.db, data.uuid), ['processing', 'successful'])
    assert.deepEqual(await postingsOf(service.db, data.uuid), [
      'capture gateway:sandbox KES -1250',
      'capture pending KES 1250',
    ])
  })

  it('never returns the recurring token or the gateway’s token in a charge', async () => {
    const answer = await api.post(PATH, chargeBody(token))
    assert.ok(!answer.text.includes(token))
    assert.doesNotMatch(answer.text, /rtk_|tok_|credential/)
  })

  it('requires all seven fields of a charge, and reports all missing ones at once', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      const details = assertApiError(await api.post(PATH, {}), 'validation_failed')
      assert.deepEqual(details.sort(), [
        'amount: required',
        'customer: required',
        'description: required',
        'metadata: required',
        'recurringToken: required',
        'reference: required',
      ])
    })
  })

  it('rejects null for each required field of a charge', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const field of ['reference', 'customer', 'metadata', 'amount', 'recurringToken', 'description']) {
        const answer = await api.post(PATH, chargeBody(token, { [field]: null }))
        assert.deepEqual(assertApiError(answer, 'validation_failed'), [`${field}: invalid_type`])
      }
    })
  })

  it('defaults the currency to USD only when it is absent, and rejects null', async () => {
    const { currency: _, ...bare } = chargeBody(token)
    const answer = await api.post(PATH, bare)
    assert.equal(answer.http, 201, answer.text)
    assert.equal(answer.body.data.sourceCurrency, 'USD')
    await assertNothingStored(service.db, service.demoKey, async () => {
      const refused = await api.post(PATH, chargeBody(token, { currency: null }))
      assert.equal(refused.http, 400)
      assert.equal(refused.body.error.details[0].field, 'currency')
      assert.deepEqual(
        assertApiError(await api.post(PATH, chargeBody(token, { currency: 'kes' })), 'invalid_currency'),
        ['currency: invalid_currency'],
      )
    })
  })

  it('uses the gateway of the token, so no currency needs a country', async () => {
    const data = await charge({ amount: 5000, currency: 'XOF' })
    assert.equal(data.status, 'successful')
    assert.equal(data.sourceAmount, '5000.00')
    assert.equal(data.sourceCurrency, 'XOF')
  })

  it('saves the latest names and country to the customer’s record', async () => {
    const customer = { ...CUSTOMER, firstname: 'Amina W.', country: 'tz' }
    const data = await charge({ customer })
    assert.equal(data.customer.firstname, 'Amina W.')
    const record = await api.get(`/api/v1/customers/${data.customer.uuid}`)
    assert.equal(record.body.data.firstname, 'Amina W.')
    assert.equal(record.body.data.country, 'TZ')
  })

  it('rejects unknown fields of a charge', async () => {
    const extra = { status: 'failed', isRecurring: false, country: 'ZZ', redirectUrl: 'nonsense' }
    const answer = await api.post(PATH, chargeBody(token, extra))
    assert.deepEqual(
      assertApiError(answer, 'unknown_field'),
      Object.keys(extra).map((field) => `${field}: unknown_field`),
    )
  })
})

describe('GET /api/v1/charges/{uuid}', () => {
  const path = (uuid: string) => `/api/v1/charges/${uuid}`

  it('rejects reading a charge without a key', async () => {
    assertApiError(await service.apiWith(undefined).get(path(UNKNOWN_UUID)), 'missing_api_key')
  })

  it('answers the same for the charge of another merchant as for an unknown one', async () => {
    const { uuid } = await charge()
    const other = await service.newMerchant()
    const theirs = await other.api.get(path(uuid))
    const unknown = await other.api.get(path(UNKNOWN_UUID))
    assertSameApiError(theirs, unknown, 'charge_not_found')
  })

  it('reads the same record that creating the charge returned', async () => {
    const created = await charge()
    const answer = await api.get(path(created.uuid))
    assert.equal(answer.http, 200)
    assert.equal(answer.body.status, 'success')
    assert.deepEqual(answer.body.data, created)
  })

  it('rejects a malformed uuid of a charge with its own code', async () => {
    for (const uuid of ['nonsense', UNKNOWN_UUID.toUpperCase(), `%7B${UNKNOWN_UUID}%7D`, '%20']) {
      const details = assertApiError(await api.get(path(uuid)), 'invalid_uuid')
      assert.deepEqual(details, ['uuid: invalid_uuid'], uuid)
    }
  })

  it('does not return a checkout payment as a charge', async () => {
    const payment = await payWith(api, 'card_success')
    assertApiError(await api.get(path(payment.uuid)), 'charge_not_found')
  })

  it('requires the scope charges:read to read a charge', async () => {
    const { api: other } = await service.newMerchant(['checkout:read'])
    assertApiError(await other.get(path(UNKNOWN_UUID)), 'insufficient_scope')
  })
})
