import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { UNKNOWN_UUID } from '../support/answers.ts'
import type { Api, ApiAnswer } from '../support/api.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, payWith, saveMethod } from '../support/builders.ts'
import { createJudge, type DocumentedOperation, operationsOf } from '../support/document.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const document = service.openApi()
const operations = operationsOf(document)
const { judge, complaints } = createJudge(document)

const INITIATE = 'POST /api/v1/checkout/initiate-payment'
const VERIFY = 'GET /api/v1/checkout/verify-payment'
const CHARGE = 'POST /api/v1/charges/recurring'
const COMPLETE = 'POST /api/v1/sandbox/payments/{reference}/complete'
const PAYMENT = 'GET /api/v1/checkout/payments/{uuid}'
const METHODS = 'GET /api/v1/customers/{uuid}/payment-methods'

const judged = new Set<string>()

function send(client: Api, { method, operation }: DocumentedOperation, path: string, body?: string) {
  const headers = { 'content-type': 'application/json' }
  return client.send(method, path, operation.requestBody === undefined ? {} : { body, headers })
}

const exampleOf = ({ operation }: DocumentedOperation) =>
  operation.requestBody?.content['application/json'].example

/** Asks the operation for real, and holds the answer against the document. */
async function ask(name: string, input: { path?: string; query?: string; body?: unknown; api?: Api } = {}) {
  const operation = operations.find((one) => one.name === name)
  assert.ok(operation, name)
  const path =
    operation.path.replaceAll(/\{\w+\}/g, input.path ?? '') + (input.query ? `?${input.query}` : '')
  const answer = await send(input.api ?? api, operation, path, JSON.stringify(input.body))
  judge(operation, answer)
  if (answer.http < 300) judged.add(name)
  return answer
}

async function expectRefusal(answer: Promise<ApiAnswer>, code: string): Promise<void> {
  const { body, text } = await answer
  assert.equal(body.error.code, code, text)
}

describe('real answers are as the document says', () => {
  it('for payments in every state', async () => {
    const body = initiateBody({
      metadata: { deep: [{ a: null }, 1.5, true] },
      description: 'x',
      isRecurring: true,
    })
    await ask(INITIATE, { body })
    assert.equal((await ask(INITIATE, { body })).headers.get('idempotent-replayed'), 'true')
    await ask(VERIFY, { query: `reference=${body.reference}` })
    for (const instrument of [
      'card_success',
      'card_declined',
      'mobile_cancelled',
      'mobile_late_success',
      'transfer_underpaid',
    ]) {
      const fresh = initiateBody({ redirectUrl: 'https://shop.example/', country: 'KE' })
      const { uuid } = (await ask(INITIATE, { body: fresh })).body.data
      await ask(COMPLETE, { path: fresh.reference, body: { instrument } })
      await ask(VERIFY, { query: `uuid=${uuid}` })
      await ask(PAYMENT, { path: uuid })
      await ask('GET /api/v1/sandbox/executions', { query: `reference=${fresh.reference}` })
    }
  })

  it('for charges in every state', async () => {
    for (const instrument of [
      'card_success',
      'card_declined_later',
      'card_auth_required_later',
      'card_lost_answer_later',
    ]) {
      const token = await saveMethod(api, instrument)
      const charge = await ask(CHARGE, { body: chargeBody(token) })
      await ask('GET /api/v1/charges/{uuid}', { path: charge.body.data.uuid })
    }
  })

  it('for refunds in every state', async () => {
    for (const instrument of ['card_success', 'card_refund_declined', 'card_refund_pending']) {
      const { reference, uuid } = await payWith(api, instrument)
      const body = { reference, amount: 10.5, reason: 'Broken', metadata: { a: [1] } }
      const refund = await ask('POST /api/v1/refunds', { body })
      await ask('GET /api/v1/refunds/{uuid}', { path: refund.body.data.uuid })
      await ask('GET /api/v1/refunds', { query: `payment=${uuid}&limit=1` })
      await expectRefusal(
        ask('POST /api/v1/refunds', { body: { uuid, amount: 9_999 } }),
        'refund_exceeds_amount',
      )
    }
    await expectRefusal(ask('POST /api/v1/refunds', { body: {} }), 'missing_reference')
  })

  it('for customers, their methods and the wallet', async () => {
    const { customer } = await payWith(api, 'card_success')
    const poor = await payWith(api, 'mobile_success', {
      customer: { ...CUSTOMER, email: 'poor@example.com', country: 'KE' },
    })
    await ask('GET /api/v1/customers')
    await ask('GET /api/v1/customers', { query: 'limit=1&sort=createdAt:asc&search=a' })
    for (const { uuid } of [customer, poor.customer]) {
      await ask('GET /api/v1/customers/{uuid}', { path: uuid })
      await ask(METHODS, { path: uuid })
    }
    await ask('GET /api/v1/wallet/balance')
    await ask('GET /api/v1/wallet/balance', { query: 'currency=ZMW' })
    await ask('GET /api/v1/misc/gateways')
    await ask('GET /api/v1/misc/routes')
    await ask('GET /api/v1/misc/routes', { query: 'currency=XOF&country=SN' })
  })

  it('for API keys', async () => {
    const body = { name: 'Report', scopes: ['wallet:read'], allowedIps: ['127.0.0.1'] }
    const { keyId } = (await ask('POST /api/v1/api-keys', { body })).body.data
    await ask('GET /api/v1/api-keys')
    await ask('GET /api/v1/api-keys/{keyId}', { path: keyId })
    await ask('POST /api/v1/api-keys/{keyId}/rotate', { path: keyId, body: {} })
    await ask('POST /api/v1/api-keys/{keyId}/revoke', { path: keyId, body: {} })
    await expectRefusal(ask('GET /api/v1/api-keys/{keyId}', { path: '000000000000' }), 'api_key_not_found')
  })

  it('for every operation', () => {
    assert.deepEqual(
      operations.map(({ name }) => name).filter((name) => !judged.has(name)),
      [],
    )
  })

  it('for refusals that every operation may answer', async () => {
    const { uuid: merchantUuid, api: narrow } = await service.newMerchant(['links:write'])
    const { api: other } = await service.newMerchant(['wallet:read'])
    const made = await service.admin.post(`/admin/v1/merchants/${merchantUuid}/keys`, {
      scopes: ['*'],
      allowedIps: ['203.0.113.7'],
    })
    const slow = await service.admin.post(`/admin/v1/merchants/${merchantUuid}/keys`, {
      scopes: ['*'],
      rateLimit: { perSecond: 1, burst: 1 },
    })
    const limited = service.apiWith(slow.body.data.apiKey)
    for (const { name, operation } of operations) {
      const isForLinks = operation.description.includes('`links:write`')
      const as = (client: Api) => ask(name, { api: client, path: UNKNOWN_UUID, body: {} })
      await expectRefusal(as(service.apiWith(undefined)), 'missing_api_key')
      await expectRefusal(as(service.apiWith('nonsense')), 'invalid_api_key')
      await expectRefusal(as(service.apiWith('cowry_live_x')), 'mode_mismatch')
      await expectRefusal(as(isForLinks ? other : narrow), 'insufficient_scope')
      await expectRefusal(as(service.apiWith(made.body.data.apiKey)), 'ip_not_allowed')
      const crowd = await Promise.all([as(limited), as(limited), as(limited)])
      assert.ok(crowd.some(({ body }) => body.error?.code === 'rate_limited'))
    }
  })

  it('for refusals of a body', async () => {
    for (const operation of operations.filter((one) => exampleOf(one) !== undefined)) {
      const path = operation.path.replaceAll('{uuid}', UNKNOWN_UUID).replaceAll(/\{\w+\}/g, newReference())
      for (const [text, headers, code] of [
        ['{', {}, 'malformed_json'],
        ['{}', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
        [' '.repeat(70_000), {}, 'payload_too_large'],
        ['[]', {}, 'validation_failed'],
        ['[]', { accept: 'application/problem+json' }, 'validation_failed'],
      ] as const) {
        const init = { body: text, headers: { 'content-type': 'application/json', ...headers } }
        const answer = await api.send(operation.method, path, init)
        judge(operation, answer)
        assert.equal(answer.body.error?.code ?? answer.body.code, code, `${operation.name}: ${answer.text}`)
      }
    }
  })

  it('for refusals of payments and charges', async () => {
    const token = await saveMethod(api, 'card_success')
    const used = initiateBody()
    await ask(INITIATE, { body: used })
    const wrong: [string, Record<string, unknown>, string][] = [
      [INITIATE, initiateBody({ currency: 'JPY' }), 'invalid_currency'],
      [INITIATE, initiateBody({ currency: 'XOF', amount: 5000 }), 'country_required'],
      [INITIATE, initiateBody({ country: 'NG' }), 'invalid_country'],
      [INITIATE, initiateBody({ amount: 0 }), 'amount_out_of_range'],
      [INITIATE, initiateBody({ amount: 1.005 }), 'amount_precision'],
      [INITIATE, { ...used, amount: 1 }, 'duplicate_reference'],
      [INITIATE, initiateBody({ description: 'card 4242 4242 4242 4242' }), 'card_data_not_allowed'],
      [CHARGE, chargeBody('rtk_unknown'), 'recurring_token_not_found'],
      [
        CHARGE,
        chargeBody(token, { customer: { ...CUSTOMER, email: 'else@example.com' } }),
        'customer_mismatch',
      ],
      [CHARGE, chargeBody(token, { reference: used.reference }), 'duplicate_reference'],
      [CHARGE, chargeBody(token, { amount: -1 }), 'amount_out_of_range'],
    ]
    for (const [name, body, code] of wrong) await expectRefusal(ask(name, { body }), code)
    const complete = { path: used.reference, body: { instrument: 'card_success' } }
    await ask(COMPLETE, complete)
    await expectRefusal(ask(COMPLETE, complete), 'invalid_state')
  })

  it('for records that are not there, and names that are none', async () => {
    for (const operation of operations.filter((one) => one.path.includes('{uuid}'))) {
      const { name } = operation
      const body = exampleOf(operation)
      assert.equal((await ask(name, { path: UNKNOWN_UUID, body })).http, 404, name)
      await expectRefusal(ask(name, { path: 'nonsense', body }), 'invalid_uuid')
    }
    await expectRefusal(ask(VERIFY), 'missing_reference')
    await expectRefusal(ask(VERIFY, { query: 'uuid=x' }), 'invalid_uuid')
    await expectRefusal(ask(VERIFY, { query: 'reference=unknown' }), 'payment_not_found')
    await expectRefusal(ask('GET /api/v1/wallet/balance', { query: 'currency=x' }), 'invalid_currency')
    const country = ask('GET /api/v1/misc/routes', { query: 'currency=XOF&country=KE' })
    await expectRefusal(country, 'invalid_country')
    await expectRefusal(ask('GET /api/v1/customers', { query: 'limit=0' }), 'validation_failed')
  })

  it('and the judge would notice a field too many or too few', () => {
    const at = ['components', 'schemas', 'PageMeta']
    const meta = {
      page: 1,
      limit: 1,
      total: 0,
      totalIsCapped: false,
      pageCount: 0,
      hasNext: false,
      hasPrevious: false,
    }
    assert.equal(complaints(at, { ...meta, nextCursor: null }).length, 0)
    assert.equal(complaints(at, meta).length, 1)
    assert.equal(complaints(at, { ...meta, nextCursor: null, extra: 1 }).length, 1)
  })
})
