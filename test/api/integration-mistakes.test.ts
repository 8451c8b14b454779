// The mistakes that people make when they integrate a payment API, and that the answer to each says what to do. One row
// each: what was sent, the error, and the sentence that helps.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { ApiErrorCode } from '../../src/core/errors.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Api, ApiResponse, RequestOptions } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { CUSTOMER, initiateBody, newReference, payWith } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api, admin } = service
const INITIATE = '/api/v1/checkout/initiate-payment'
const VERIFY = '/api/v1/checkout/verify-payment'
const PAYMENTS = '/api/v1/checkout/payments'
const REFUNDS = '/api/v1/refunds'
const ENDPOINTS = '/api/v1/webhooks/endpoints'
const JSON_BODY = { 'content-type': 'application/json' }
const anonymous = service.apiWith(undefined)
const paid = await payWith(api, 'card_success', { amount: 1000 })

const expireKey = sql`update api_keys set expires_at = created_at + interval '1 millisecond' where key_id = $1`

/** A client with a key of another merchant. */
async function clientWith(key: Record<string, unknown>, isExpired = false): Promise<Api> {
  const { uuid } = (await admin.post('/admin/v1/merchants', { name: 'Newcomer' })).body.data
  const made = await admin.post(`/admin/v1/merchants/${uuid}/keys`, { scopes: ['*'], ...key })
  assert.equal(made.http, 201, made.text)
  if (isExpired) await service.db.query(expireKey, [made.body.data.keyId])
  return service.apiWith(made.body.data.apiKey)
}

/** A client of a merchant that no gateway serves. */
async function clientWithoutGateways(): Promise<Api> {
  const merchant = await service.newMerchant()
  const settings = { routing: [{ exclude: ['sandbox'] }] }
  assert.equal(
    (await admin.send('PATCH', `/admin/v1/merchants/${merchant.uuid}`, json({ settings }))).http,
    200,
  )
  return merchant.api
}

function json(body: unknown): RequestOptions {
  return { body: JSON.stringify(body), headers: JSON_BODY }
}

const initiate = (changes: Record<string, unknown>) => api.post(INITIATE, initiateBody(changes))
const initiateText = (text: string, headers = {}) => api.postText(INITIATE, text, headers)
const customerWith = (changes: Record<string, unknown>) => initiate({ customer: { ...CUSTOMER, ...changes } })
const without = (field: string) => initiate({ [field]: undefined })
const endpoint = (changes: Record<string, unknown>) =>
  api.post(ENDPOINTS, { url: 'https://example.com/hook', ...changes })
const refund = (changes: Record<string, unknown>) =>
  api.post(REFUNDS, { paymentReference: paid.reference, ...changes })
const preflight = (path: string) => {
  const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' }
  return anonymous.send('OPTIONS', path, { headers })
}

async function sendTwice(second: (reference: string) => Promise<ApiResponse>): Promise<ApiResponse> {
  const body = initiateBody()
  assert.equal((await api.post(INITIATE, body)).http, 201)
  return second(body.reference)
}

async function reuseKey(): Promise<ApiResponse> {
  const headers = { 'idempotency-key': newReference() }
  assert.equal((await api.post(INITIATE, initiateBody(), headers)).http, 201)
  return api.post(INITIATE, initiateBody(), headers)
}

const getWith = (headers: Record<string, string>) => anonymous.get('/api/v1/customers', headers)
const demoKey = service.demoKey ?? ''

type Mistake = [sent: string, send: () => Promise<ApiResponse>, code: ApiErrorCode, says: RegExp]

const MISTAKES: Mistake[] = [
  ['no key', () => getWith({}), 'missing_api_key', /in the x-api-key header/],
  [
    'a truncated key',
    () => getWith({ 'x-api-key': demoKey.slice(0, -3) }),
    'invalid_api_key',
    /copy it again/,
  ],
  [
    'the key as Authorization: Bearer',
    () => getWith({ authorization: `Bearer ${demoKey}` }),
    'missing_api_key',
    /x-api-key header; the Authorization header is not read/,
  ],
  [
    'the key with Bearer before it',
    () => getWith({ 'x-api-key': `Bearer ${demoKey}` }),
    'invalid_api_key',
    /without “Bearer” before it/,
  ],
  [
    'the key in the URL',
    () => anonymous.get(`/api/v1/customers?api_key=${demoKey}`),
    'api_key_in_url',
    /Revoke this key/,
  ],
  [
    'a live key in staging',
    () => getWith({ 'x-api-key': 'cowry_live_x' }),
    'mode_mismatch',
    /use a cowry_test_ key here/,
  ],
  [
    'an expired key',
    async () => (await clientWith({}, true)).get('/api/v1/customers'),
    'api_key_expired',
    /create a new one/,
  ],
  [
    'a key without the scope',
    async () => (await clientWith({ scopes: ['wallet:read'] })).post(INITIATE, initiateBody()),
    'insufficient_scope',
    /lacks the scope checkout:write; use a key that has it/,
  ],
  [
    'a key from another address',
    async () => (await clientWith({ allowedIps: ['203.0.113.7'] })).get('/api/v1/customers'),
    'ip_not_allowed',
    /from (?:127\.0\.0\.1|::1|::ffff:127\.0\.0\.1), the address/,
  ],
  ['a currency in lower case', () => initiate({ currency: 'kes' }), 'invalid_currency', /Did you mean KES\?/],
  [
    'a currency that is not served',
    () => initiate({ currency: 'INR' }),
    'invalid_currency',
    /must be one of BDT, /,
  ],
  [
    'an amount as text',
    () => initiate({ amount: '100.00' }),
    'validation_failed',
    /must be a number\. Send it without quotes/,
  ],
  [
    'too many decimals',
    () => initiate({ amount: 100.123 }),
    'amount_precision',
    /more than the 2 decimals of KES/,
  ],
  [
    'decimals of a currency without any',
    () => initiate({ amount: 100.5, currency: 'UGX' }),
    'amount_precision',
    /more than the 0 decimals of UGX/,
  ],
  ['an amount of zero', () => initiate({ amount: 0 }), 'amount_out_of_range', /above 0/],
  ['a negative amount', () => initiate({ amount: -5 }), 'amount_out_of_range', /above 0/],
  ['a huge amount', () => initiate({ amount: 1e15 }), 'amount_out_of_range', /at most 999,999,999,999\.99/],
  [
    'XOF without a country',
    () => initiate({ currency: 'XOF', amount: 5000 }),
    'country_required',
    /one of .*\bSN\b/,
  ],
  [
    'XOF with a country that does not use it',
    () => initiate({ currency: 'XOF', amount: 5000, country: 'KE' }),
    'invalid_country',
    /KE does not use XOF; it is used in .*\bSN\b/,
  ],
  ['a country by its name', () => initiate({ country: 'Kenya' }), 'invalid_country', /alpha-2 code/],
  [
    'a used reference with another body',
    () => sendTwice((reference) => initiate({ reference, amount: 7 })),
    'duplicate_reference',
    /which is pending\. Use a new reference for another payment/,
  ],
  [
    'a form as body',
    () => initiateText('amount=100', { 'content-type': 'application/x-www-form-urlencoded' }),
    'unsupported_media_type',
    /as application\/json/,
  ],
  [
    'a body as text/plain',
    () => initiateText('{}', { 'content-type': 'text/plain' }),
    'unsupported_media_type',
    /application\/json/,
  ],
  ['a trailing comma', () => initiateText('{"amount": 100,}'), 'malformed_json', /line 1, column 16/],
  ['an empty body', () => initiateText(''), 'malformed_json', /empty; send a JSON object/],
  ['no customer', () => without('customer'), 'validation_failed', /customer is required/],
  [
    'a bad e-mail',
    () => customerWith({ email: 'amina' }),
    'validation_failed',
    /customer\.email must be an e-mail address/,
  ],
  ['no reference', () => without('reference'), 'validation_failed', /reference is required/],
  [
    'firstName instead of firstname',
    () => initiate({ customer: { email: CUSTOMER.email, firstName: 'Ama', lastName: 'Mensah' } }),
    'unknown_field',
    /customer\.firstName .* did you mean customer\.firstname\?/,
  ],
  [
    'a relative redirectUrl',
    () => initiate({ redirectUrl: '/thanks' }),
    'validation_failed',
    /an https or http address/,
  ],
  [
    'redirect_url',
    () => initiate({ redirect_url: 'https://shop.example' }),
    'unknown_field',
    /did you mean redirectUrl\?/,
  ],
  [
    'callback_url',
    () => initiate({ callback_url: 'https://shop.example' }),
    'unknown_field',
    /did you mean redirectUrl\?/,
  ],
  [
    'a trailing slash',
    () => api.post(`${INITIATE}/`, initiateBody()),
    'route_not_found',
    /did you mean \/api\/v1\/checkout\/initiate-payment\?/,
  ],
  ['no prefix', () => api.get('/customers'), 'route_not_found', /did you mean \/api\/v1\/customers\?/],
  [
    'another version',
    () => api.get('/api/v2/customers'),
    'route_not_found',
    /did you mean \/api\/v1\/customers\?/,
  ],
  ['capitals', () => api.get('/API/V1/Customers'), 'route_not_found', /did you mean \/api\/v1\/customers\?/],
  [
    'an unknown path',
    () => api.get('/api/v1/subscriptions-of-mine'),
    'route_not_found',
    /reference of all operations is at http.*\/docs\/api\.$/,
  ],
  ['GET on a POST path', () => api.get(INITIATE), 'method_not_allowed', /takes POST, not GET/],
  ['PUT on a POST path', () => api.send('PUT', INITIATE), 'method_not_allowed', /takes POST, not PUT/],
  [
    'POST on a list of payments',
    () => api.post('/api/v1/payments', initiateBody()),
    'method_not_allowed',
    /takes GET, not POST\. To start a payment, send POST \/api\/v1\/checkout\/initiate-payment\.$/,
  ],
  [
    'POST on the list of charges',
    () => api.post('/api/v1/charges', {}),
    'method_not_allowed',
    /send POST \/api\/v1\/charges\/recurring\.$/,
  ],
  ['verify without a reference', () => api.get(VERIFY), 'missing_reference', /by reference or by uuid/],
  ['verify with ref', () => api.get(`${VERIFY}?ref=x`), 'unknown_field', /did you mean reference\?/],
  ['a number as uuid', () => api.get('/api/v1/customers/123'), 'invalid_uuid', /such as 0197a3c2-/],
  [
    'a refund with an own reference as reference',
    () => api.post(REFUNDS, { reference: 'refund-1' }),
    'payment_not_found',
    /refundReference/,
  ],
  [
    'too large a refund',
    () => refund({ amount: 1001, refundReference: newReference() }),
    'refund_exceeds_amount',
    /1000\.00 KES/,
  ],
  [
    'a refund of null',
    () => refund({ amount: null }),
    'validation_failed',
    /Leave it out instead of sending null/,
  ],
  ['a mistyped amount of a refund', () => refund({ amont: 100 }), 'unknown_field', /did you mean amount\?/],
  [
    'an unknown event of a webhook endpoint',
    () => endpoint({ events: ['payment.success'] }),
    'validation_failed',
    /Did you mean payment\.successful\?/,
  ],
  ['status=success', () => api.get(`${PAYMENTS}?status=success`), 'validation_failed', /successful/],
  [
    'createdFrom as a date',
    () => api.get(`${PAYMENTS}?createdFrom=2026-11-16`),
    'validation_failed',
    /ISO 8601 time with a zone/,
  ],
  [
    'a mistyped channel',
    () => api.get(`${PAYMENTS}?channel=banktransfer`),
    'validation_failed',
    /Did you mean bank_transfer\?/,
  ],
  [
    'a mistyped gateway',
    () => api.get(`${PAYMENTS}?paymentGateway=strpe`),
    'validation_failed',
    /must be one of stripe, .* Did you mean stripe\?/,
  ],
  [
    'a mistyped gateway of an export',
    () => api.get('/api/v1/payments/export?paymentGateway=strpe'),
    'validation_failed',
    /Did you mean stripe\?/,
  ],
  [
    'a mistyped statusReason',
    () => api.get(`${PAYMENTS}?statusReason=retuned`),
    'validation_failed',
    /Did you mean returned\?/,
  ],
  [
    'createdTo before createdFrom',
    () => api.get(`${PAYMENTS}?createdFrom=2026-11-16T00:00:00Z&createdTo=2026-11-15T23:59:59Z`),
    'validation_failed',
    /createdTo must not be before createdFrom/,
  ],
  [
    'an export with paidTo before paidFrom',
    () => api.get('/api/v1/payments/export?paidFrom=2026-11-16T00:00:00Z&paidTo=2026-11-16T00:00:00%2B01:00'),
    'validation_failed',
    /paidTo must not be before paidFrom/,
  ],
  ['from', () => api.get(`${PAYMENTS}?from=01/11/2026`), 'unknown_field', /did you mean createdFrom\?/],
  [
    'metadata=foo:bar',
    () => api.get(`${PAYMENTS}?metadata=foo:bar`),
    'validation_failed',
    /such as metadata\[orderId\]=7/,
  ],
  [
    'a pattern of event types',
    () => api.get('/api/v1/events?type=payment.*'),
    'validation_failed',
    /one event type, such as payment\.successful\. Only webhook endpoints take patterns/,
  ],
  [
    'no events of a webhook endpoint',
    () => endpoint({ events: [] }),
    'validation_failed',
    /must have at least 1 item\.$/,
  ],
  [
    'a phone number of the customer',
    () => customerWith({ phonenumber: '+254700000000' }),
    'unknown_field',
    /^customer\.phonenumber is not a field of this request; did you mean customer\.phone\?$/,
  ],
  [
    'a field twice',
    () => initiateText('{"amount":1,"amount":2}'),
    'validation_failed',
    /^amount is written more than once; send it once\.$/,
  ],
  [
    'a long Idempotency-Key',
    () => api.post(INITIATE, initiateBody(), { 'idempotency-key': 'k'.repeat(256) }),
    'validation_failed',
    /^Idempotency-Key must be 1 to 255 ASCII characters/,
  ],
  ['per_page', () => api.get('/api/v1/customers?per_page=50'), 'unknown_field', /did you mean limit\?/],
  ['limit=1000', () => api.get('/api/v1/customers?limit=1000'), 'validation_failed', /at most 100/],
  ['page=0', () => api.get('/api/v1/customers?page=0'), 'validation_failed', /at least 1/],
  [
    'an API key at /admin',
    () => api.get('/admin/v1/merchants'),
    'invalid_admin_token',
    /operator token as Authorization: Bearer/,
  ],
  [
    'a card number',
    () => initiate({ description: 'card 4242.4242.4242.4242' }),
    'card_data_not_allowed',
    /must never be sent/,
  ],
  ['an Idempotency-Key for another body', reuseKey, 'idempotency_key_reused', /with another body/],
  [
    'the preflight of a browser',
    () => preflight(INITIATE),
    'browser_not_allowed',
    /from your server, never from a browser/,
  ],
  [
    'a currency without a gateway',
    async () => (await clientWithoutGateways()).post(INITIATE, initiateBody()),
    'no_route_available',
    /misc\/gateways lists your gateways and what each collects; GET \/api\/v1\/misc\/routes says why/,
  ],
]

describe('the answer to an integration mistake', () => {
  for (const [sent, send, code, says] of MISTAKES) {
    it(`says what to do about ${sent}`, async () => {
      const answer = await send()
      assertApiError(answer, code)
      assert.match(answer.body.message, says)
    })
  }

  it('names the address, the port or the scheme that a webhook endpoint may not have', async () => {
    for (const [url, says] of [
      ['http://example.com/hook', /https/],
      ['https://10.0.0.1/hook', /public|private|address/],
    ] as const) {
      const answer = await endpoint({ url })
      assert.ok(answer.http === 400 || answer.http === 422, answer.text)
      assert.match(answer.body.message, says)
    }
  })

  it('gives no permission to a browser', async () => {
    for (const path of [INITIATE, '/api/v1/nowhere', '/admin/v1/merchants']) {
      const answer = await preflight(path)
      assert.equal(answer.http, 403)
      assert.equal(answer.headers.get('access-control-allow-origin'), null)
    }
    assertApiError(await anonymous.send('OPTIONS', INITIATE), 'method_not_allowed')
  })
})
