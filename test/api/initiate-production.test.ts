import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { INITIATE } from '../../src/checkout/initiate.ts'
import { toInitiateInput } from '../../src/checkout/input.ts'
import { fingerprintOf } from '../../src/payments/input.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { testService } from '../support/service.ts'

// Production without a gateway: no currency has a route.
const secret = () => randomBytes(32).toString('base64')
const service = await testService(
  { after },
  {
    env: {
      COWRY_ENV: 'production',
      COWRY_PUBLIC_URL: 'https://pay.example.com',
      COWRY_ADMIN_TOKEN: 'a-token-of-the-tests-0123456789abcdef',
      COWRY_ENCRYPTION_KEYS: `k1:${secret()}`,
      COWRY_KEY_PEPPER: secret(),
    },
  },
)
const shop = await service.newMerchant()
const PATH = '/api/v1/checkout/initiate-payment'

describe('initiating a payment in production', () => {
  it('answers 422 no_route_available where no gateway serves the currency, before it stores anything', async () => {
    await assertNothingStored(service.db, shop.key, async () => {
      const headers = { 'idempotency-key': 'no-route' }
      assertApiError(await shop.api.post(PATH, initiateBody(), headers), 'no_route_available')
    })
  })

  it('answers a retry also when the route is gone', async () => {
    const { currency: _, ...body } = initiateBody()
    const { uuid } = shop
    const fingerprint = fingerprintOf(INITIATE, toInitiateInput(body))
    await service.db.script(`
      insert into customers (
        merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at
      )
      values ('${uuid}', '${uuid}', 'a@example.com', 'a@example.com', 'A', 'B', 'a', now(), now());
      insert into payment_references (merchant_id, reference, payment_id, fingerprint, created_at, amount_hundredths)
      values ('${uuid}', '${body.reference}', '${uuid}', decode('${fingerprint}', 'hex'), now(), 125050);
      insert into payments (
        merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id,
        customer_email, customer_firstname, customer_lastname, due_at, created_at
      )
      values (
        '${uuid}', '${uuid}', 'checkout', '${body.reference}', 'pending', 1, 125050, 'USD', 'gone', '${uuid}',
        'a@example.com', 'A', 'B', now() + interval '1 hour', now()
      );
      insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
      values ('${uuid}', '${uuid}', 'payment.pending', 'payment', '${uuid}', 1, '{}', now())`)
    const answer = await shop.api.post(PATH, body)
    assert.equal(answer.http, 201, answer.text)
    assert.equal(answer.headers.get('idempotent-replayed'), 'true')
    assert.equal(answer.body.data.uuid, uuid)
    assert.equal(answer.body.data.paymentGateway, 'gone')
    assertApiError(await shop.api.post(PATH, { ...body, amount: 7 }), 'duplicate_reference')
  })

  it('accepts only https for redirectUrl in production', async () => {
    const answer = await shop.api.post(PATH, initiateBody({ redirectUrl: 'http://shop.example/' }))
    assert.deepEqual(assertApiError(answer, 'validation_failed'), ['redirectUrl: invalid_format'])
    const secure = await shop.api.post(PATH, initiateBody({ redirectUrl: 'https://shop.example/' }))
    assertApiError(secure, 'no_route_available')
  })

  it('has no sandbox operations in production', async () => {
    const complete = await shop.api.post('/api/v1/sandbox/payments/r/complete', {
      instrument: 'card_success',
    })
    assertApiError(complete, 'route_not_found')
    assertApiError(await shop.api.get('/api/v1/sandbox/executions?reference=r'), 'route_not_found')
    assertApiError(await shop.api.get('/api/v1/sandbox/clock'), 'route_not_found')
    const advance = await shop.api.post('/api/v1/sandbox/clock/advance', { seconds: 60 })
    assertApiError(advance, 'route_not_found')
  })
})

describe('the landing page in production', () => {
  it('has no test payment and sets no cookie', async () => {
    const anonymous = service.apiWith(undefined)
    const landing = await anonymous.get('/')
    assert.equal(landing.http, 200)
    assert.ok(landing.text.includes('One API for payments') && !landing.text.includes('<form'))
    assert.equal(landing.headers.get('set-cookie'), null)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const token = 'A'.repeat(22)
    const headers = { ...form, cookie: `cowry_visitor=${token}` }
    const posted = await anonymous.postText('/test-payments', `visitor=${token}&token=${token}`, headers)
    assert.equal(posted.http, 404)
    assert.equal((await anonymous.get(`/test-payments/${token}`)).http, 404)
  })
})
