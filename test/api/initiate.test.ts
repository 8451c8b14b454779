import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { InitiatedPayment } from '../../src/payments/schema.ts'
import {
  assertApiError,
  assertFields,
  assertKeys,
  assertNothingStored,
  ISO_TIME,
  UUID_V7,
} from '../support/assertions.ts'
import { CUSTOMER, initiateBody } from '../support/builders.ts'
import { TEST_CELLS } from '../support/cells.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const PATH = '/api/v1/checkout/initiate-payment'

const INITIATED_FIELDS = [
  'uuid',
  'reference',
  'status',
  'sourceAmount',
  'sourceCurrency',
  'country',
  'paymentGateway',
  'checkoutUrl',
  'accessCode',
  'isRecurring',
  'offerSavedMethods',
  'description',
  'metadata',
  'redirectUrl',
  'customer',
  'expiresAt',
  'createdAt',
]

async function initiate(changes: Record<string, unknown> = {}) {
  const answer = await api.post(PATH, initiateBody(changes))
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

describe('POST /api/v1/checkout/initiate-payment', () => {
  it('rejects initiating without a key, and stores nothing', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      const answer = await service.apiWith(undefined).post(PATH, initiateBody())
      assertApiError(answer, 'missing_api_key')
    })
  })

  it('isolates references and customers of merchants from each other', async () => {
    const body = initiateBody()
    const first = await api.post(PATH, body)
    const other = await service.newMerchant()
    const second = await other.api.post(PATH, body)
    assert.equal(second.http, 201, second.text)
    assert.equal(second.headers.get('idempotent-replayed'), null)
    assert.notEqual(second.body.data.uuid, first.body.data.uuid)
    assert.notEqual(second.body.data.customer.uuid, first.body.data.customer.uuid)
    assert.notEqual(second.body.data.accessCode, first.body.data.accessCode)
  })

  it('requires the scope checkout:write to initiate, and names it', async () => {
    const { api: reader } = await service.newMerchant(['checkout:read', 'charges:write'])
    const answer = await reader.post(PATH, initiateBody())
    assertApiError(answer, 'insufficient_scope')
    assert.match(answer.body.message, /checkout:write/)
  })

  it('answers an initiate with 201, the envelope and exactly the documented fields', async () => {
    const answer = await api.post(PATH, initiateBody())
    assert.equal(answer.http, 201)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    assert.match(answer.headers.get('x-request-id') ?? '', UUID_V7)
    for (const header of ['ratelimit-policy', 'ratelimit']) assert.ok(answer.headers.get(header), header)
    assert.equal(answer.headers.get('idempotent-replayed'), null)
    assertKeys(answer.body, ['status', 'message', 'data'])
    assert.equal(answer.body.status, 'success')
    assert.equal(typeof answer.body.message, 'string')
    assertFields(answer.body.data, INITIATED_FIELDS, InitiatedPayment)
    assertKeys(answer.body.data.customer, ['uuid', 'firstname', 'lastname', 'email'])
  })

  it('returns the values of the request', async () => {
    const asked = {
      reference: 'Order №7/ä',
      description: 'Two pairs\n\tof shoes',
      metadata: { order: 7, tags: ['a', 'b'], nested: { yes: true, none: null } },
      redirectUrl: 'https://shop.example/thanks?cart=1#done',
      isRecurring: true,
      country: 'KE',
    }
    const data = await initiate(asked)
    for (const [field, value] of Object.entries(asked)) assert.deepEqual(data[field], value, field)
    assert.equal(data.sourceAmount, '1250.50')
    assert.equal(data.sourceCurrency, 'KES')
    assert.equal(data.status, 'pending')
    assert.equal(data.paymentGateway, 'sandbox')
    assert.deepEqual({ ...data.customer, uuid: '' }, { ...CUSTOMER, uuid: '' })
  })

  it('defaults to USD, not recurring and null for absent optional fields', async () => {
    const { reference, customer } = initiateBody()
    const answer = await api.post(PATH, { amount: 10, reference, customer })
    assert.equal(answer.http, 201, answer.text)
    const { data } = answer.body
    assert.equal(data.sourceCurrency, 'USD')
    assert.equal(data.sourceAmount, '10.00')
    assert.equal(data.country, 'US')
    assert.equal(data.isRecurring, false)
    assert.equal(data.description, null)
    assert.deepEqual(data.metadata, {})
    assert.equal(data.redirectUrl, null)
  })

  it('formats amounts with two decimals also where the currency has none', async () => {
    const data = await initiate({ amount: 5000, currency: 'XOF', country: 'SN' })
    assert.equal(data.sourceAmount, '5000.00')
    assert.equal(data.country, 'SN')
  })

  it('identifies records by UUIDv7 and returns times in UTC with milliseconds', async () => {
    const before = Date.now()
    const data = await initiate()
    assert.match(data.uuid, UUID_V7)
    assert.match(data.customer.uuid, UUID_V7)
    assert.match(data.createdAt, ISO_TIME)
    assert.match(data.expiresAt, ISO_TIME)
    const createdAt = Date.parse(data.createdAt)
    assert.ok(createdAt >= before && createdAt <= Date.now())
  })

  it('keeps a checkout open for 60 minutes by default', async () => {
    const data = await initiate()
    assert.equal(Date.parse(data.expiresAt) - Date.parse(data.createdAt), 60 * 60_000)
  })

  it('sends the payer to our own page behind an unguessable access code', async () => {
    const data = await initiate()
    assert.equal(data.checkoutUrl, `${service.publicUrl}/pay/${data.accessCode}`)
    // 43 base62 characters hold 256 random bits; those of a cell other than 0 are after its number.
    assert.match(data.accessCode, TEST_CELLS === 1 ? /^[0-9A-Za-z]{43}$/ : /^(?:0[12])?[0-9A-Za-z]{43}$/)
    const page = await fetch(data.checkoutUrl)
    assert.equal(page.status, 200)
    assert.match(await page.text(), /KSh\s1,250\.50/)
    const other = await fetch(data.checkoutUrl.replace(/.$/, (end: string) => (end === 'a' ? 'b' : 'a')))
    assert.equal(other.status, 404)
  })

  it('finds a customer by e-mail in any case, and saves the latest names', async () => {
    const email = 'Baraka.Mwangi@Example.com'
    const first = await initiate({ customer: { ...CUSTOMER, email } })
    const second = await initiate({
      customer: { email: email.toLowerCase(), firstname: 'Baraka', lastname: 'Mwangi', country: 'ke' },
    })
    assert.equal(second.customer.uuid, first.customer.uuid)
    assert.equal(first.customer.email, email, 'each payment keeps its own values')
    const customer = await api.get(`/api/v1/customers/${first.customer.uuid}`)
    assert.equal(customer.body.data.firstname, 'Baraka')
    assert.equal(customer.body.data.email, email.toLowerCase())
    assert.equal(customer.body.data.country, 'KE')
  })

  it('normalises names, so that each has one spelling', async () => {
    const data = await initiate({ customer: { ...CUSTOMER, firstname: 'Zoe\u0308' } })
    assert.equal(data.customer.firstname, 'Zo\u00eb')
  })

  it('uses the caller’s request id when it is well formed', async () => {
    const answer = await api.post(PATH, initiateBody(), { 'x-request-id': 'merchant-request-1' })
    assert.equal(answer.headers.get('x-request-id'), 'merchant-request-1')
  })
})

describe('the length of a checkout', () => {
  it('keeps a checkout open for COWRY_CHECKOUT_MINUTES', async (t) => {
    const short = await testService(t, { env: { COWRY_CHECKOUT_MINUTES: '5' } })
    const answer = await short.api.post(PATH, initiateBody())
    const { expiresAt, createdAt } = answer.body.data
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 5 * 60_000)
  })
})
