import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { UNKNOWN_UUID } from '../support/answers.ts'
import type { Api, ApiAnswer } from '../support/api.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, payWith, saveMethod } from '../support/builders.ts'
import { createJudge, operationsOf } from '../support/document.ts'
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

/** Asks the operation for real, and holds the answer against the document. */
async function ask(name: string, input: { path?: string; query?: string; body?: unknown; api?: Api } = {}) {
  const operation = operations.find((one) => one.name === name)
  assert.ok(operation, name)
  const path = operation.path.replace(/\{\w+\}/, input.path ?? '') + (input.query ? `?${input.query}` : '')
  const client = input.api ?? api
  const answer = operation.method === 'POST' ? await client.post(path, input.body) : await client.get(path)
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

  it('for every operation', () => {
    assert.deepEqual(
      operations.map(({ name }) => name).filter((name) => !judged.has(name)),
      [],
    )
  })

  it('for refusals that every operation may answer', async () => {
    const { uuid: merchantUuid, api: narrow } = await service.newMerchant(['links:write'])
    const made = await service.admin.post(`/admin/v1/merchants/${merchantUuid}/keys`, {
      scopes: ['*'],
      allowedIps: ['203.0.113.7'],
    })
    const slow = await service.admin.post(`/admin/v1/merchants/${merchantUuid}/keys`, {
      scopes: ['*'],
      rateLimit: { perSecond: 1, burst: 1 },
    })
    const limited = service.apiWith(slow.body.data.apiKey)
    for (const { name } of operations) {
      const as = (client: Api) => ask(name, { api: client, path: UNKNOWN_UUID, body: {} })
      await expectRefusal(as(service.apiWith(undefined)), 'missing_api_key')
      await expectRefusal(as(service.apiWith('nonsense')), 'invalid_api_key')
      await expectRefusal(as(service.apiWith('cowry_live_x')), 'mode_mismatch')
      await expectRefusal(as(narrow), 'insufficient_scope')
      await expectRefusal(as(service.apiWith(made.body.data.apiKey)), 'ip_not_allowed')
      const crowd = await Promise.all([as(limited), as(limited), as(limited)])
      assert.ok(crowd.some(({ body }) => body.error?.code === 'rate_limited'))
    }
  })

  it('for refusals of a body', async () => {
    for (const operation of operations.filter(({ method }) => method === 'POST')) {
      const path = operation.path.replace(/\{\w+\}/, newReference())
      for (const [text, headers, code] of [
        ['{', {}, 'malformed_json'],
        ['{}', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
        [' '.repeat(70_000), {}, 'payload_too_large'],
        ['{}', {}, 'validation_failed'],
        ['{}', { accept: 'application/problem+json' }, 'validation_failed'],
        ['{}', { 'idempotency-key': 'with space' }, 'validation_failed'],
      ] as const) {
        const answer = await api.postText(path, text, headers)
        judge(operation, answer)
        assert.equal(answer.body.error?.code ?? answer.body.code, code, answer.text)
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
    for (const { name, path } of operations.filter((one) => one.path.includes('{uuid}'))) {
      const answer = await ask(name, { path: UNKNOWN_UUID })
      assert.equal(answer.http, 404, path)
      await expectRefusal(ask(name, { path: 'nonsense' }), 'invalid_uuid')
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
