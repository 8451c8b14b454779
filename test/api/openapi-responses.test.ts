import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Api, ApiResponse } from '../support/api.ts'
import { UNKNOWN_UUID } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, payWith, saveMethod } from '../support/builders.ts'
import { newProposal, requireTwoPeople } from '../support/cases.ts'
import { createExampleShapes } from '../support/example-shapes.ts'
import { linkBody, payAt } from '../support/links.ts'
import { createResponseValidator, type DocumentedOperation, operationsOf } from '../support/openapi.ts'
import { p2pBody, WALLET } from '../support/p2p.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const document = service.openApi()
const operations = operationsOf(document)
const { assertDocumented, schemaErrors } = createResponseValidator(document)

const INITIATE = 'POST /api/v1/checkout/initiate-payment'
const VERIFY = 'GET /api/v1/checkout/verify-payment'
const CHARGE = 'POST /api/v1/charges/recurring'
const COMPLETE = 'POST /api/v1/sandbox/payments/{reference}/complete'
const PAYMENT = 'GET /api/v1/checkout/payments/{uuid}'
const METHODS = 'GET /api/v1/customers/{uuid}/payment-methods'

const exampleShapes = createExampleShapes()
const PAYER = { ...CUSTOMER, phone: '0712 345 678' }

function send(client: Api, { method, operation }: DocumentedOperation, path: string, body?: string) {
  const headers = { 'content-type': 'application/json' }
  return client.send(method, path, operation.requestBody === undefined ? {} : { body, headers })
}

const exampleOf = ({ operation }: DocumentedOperation) =>
  operation.requestBody?.content['application/json'].example

interface RequestInput {
  path?: string | string[]
  query?: string
  body?: unknown
  api?: Api
}

/** Calls the operation, and checks the response against the document. */
async function sendRequest(name: string, input: RequestInput = {}) {
  const operation = operations.find((one) => one.name === name)
  assert.ok(operation, name)
  const names = [input.path ?? ''].flat()
  // A single value fills every path parameter; several values fill one each.
  const filled = operation.path.replaceAll(
    /\{\w+\}/g,
    () => (names.length > 1 ? names.shift() : names[0]) ?? '',
  )
  const path = filled + (input.query ? `?${input.query}` : '')
  const answer = await send(input.api ?? api, operation, path, JSON.stringify(input.body))
  assertDocumented(operation, answer)
  if (answer.http < 300) exampleShapes.collect(operation, answer)
  return answer
}

async function expectApiError(answer: Promise<ApiResponse>, code: string): Promise<void> {
  const { body, text } = await answer
  assert.equal(body.error.code, code, text)
}

describe('responses and the OpenAPI document', () => {
  it('documents payments in every state', async () => {
    const body = initiateBody({
      metadata: { deep: [{ a: null }, 1.5, true] },
      description: 'x',
      isRecurring: true,
      customer: PAYER,
    })
    await sendRequest(INITIATE, { body })
    assert.equal((await sendRequest(INITIATE, { body })).headers.get('idempotent-replayed'), 'true')
    const { uuid } = (await sendRequest(VERIFY, { query: `reference=${body.reference}` })).body.data
    await sendRequest('POST /api/v1/checkout/payments/{uuid}/cancel', { path: uuid })
    for (const instrument of [
      'card_success',
      'card_declined',
      'mobile_cancelled',
      'mobile_late_success',
      'transfer_underpaid',
    ]) {
      const fresh = initiateBody({ redirectUrl: 'https://shop.example/', country: 'KE', customer: PAYER })
      const { uuid } = (await sendRequest(INITIATE, { body: fresh })).body.data
      await sendRequest(COMPLETE, { path: fresh.reference, body: { instrument } })
      await sendRequest(VERIFY, { query: `uuid=${uuid}` })
      await sendRequest(PAYMENT, { path: uuid })
      await sendRequest('GET /api/v1/sandbox/executions', { query: `reference=${fresh.reference}` })
    }
  })

  it('documents charges in every state', async () => {
    for (const instrument of [
      'card_success',
      'card_declined_later',
      'card_auth_required_later',
      'card_lost_answer_later',
    ]) {
      const token = await saveMethod(api, instrument)
      const charge = await sendRequest(CHARGE, { body: chargeBody(token) })
      await sendRequest('GET /api/v1/charges/{uuid}', { path: charge.body.data.uuid })
    }
  })

  it('documents refunds in every state', async () => {
    for (const instrument of ['card_success', 'card_refund_declined', 'card_refund_pending']) {
      const { reference, uuid } = await payWith(api, instrument)
      const part = { paymentReference: reference, amount: 10.5, reason: 'Broken', metadata: { a: [1] } }
      const body = { ...part, refundReference: newReference() }
      const refund = await sendRequest('POST /api/v1/refunds', { body })
      await sendRequest('GET /api/v1/refunds/{uuid}', { path: refund.body.data.uuid })
      await sendRequest('GET /api/v1/refunds', { query: `payment=${uuid}&limit=1` })
      await expectApiError(sendRequest('POST /api/v1/refunds', { body: part }), 'idempotency_required')
      const other = { ...body, reason: 'Lost' }
      await expectApiError(sendRequest('POST /api/v1/refunds', { body: other }), 'duplicate_reference')
      await expectApiError(
        sendRequest('POST /api/v1/refunds', { body: { uuid, amount: 9_999 } }),
        'refund_exceeds_amount',
      )
    }
    await expectApiError(sendRequest('POST /api/v1/refunds', { body: {} }), 'missing_reference')
  })

  it('documents payment links in every state', async () => {
    const LINKS = '/api/v1/payment-links'
    const made = await sendRequest(`POST ${LINKS}`, {
      body: linkBody({ maxPayments: 1, metadata: { a: [null] } }),
    })
    await sendRequest(`POST ${LINKS}`, {
      body: linkBody({ amount: null, minAmount: 1, maxAmount: 5, expiresAt: '2099-01-01T00:00:00Z' }),
    })
    const { uuid, url } = made.body.data
    await payAt(service, { uuid, url }, 'card_success')
    await sendRequest(`GET ${LINKS}/{uuid}/payments`, { path: uuid })
    await sendRequest(`GET ${LINKS}/{uuid}`, { path: uuid })
    await sendRequest(`PATCH ${LINKS}/{uuid}`, { path: uuid, body: { maxPayments: 2, description: null } })
    await sendRequest(`POST ${LINKS}/{uuid}/deactivate`, { path: uuid })
    await sendRequest(`GET ${LINKS}`, { query: 'limit=1&search=ticket' })
    await expectApiError(
      sendRequest(`PATCH ${LINKS}/{uuid}`, { path: uuid, body: { minAmount: 1 } }),
      'validation_failed',
    )
    await expectApiError(sendRequest(`GET ${LINKS}/{uuid}`, { path: UNKNOWN_UUID }), 'payment_link_not_found')
  })

  it('documents customers, their methods and the wallet', async () => {
    const { customer } = await payWith(api, 'card_success')
    const poor = await payWith(api, 'mobile_success', {
      customer: { ...CUSTOMER, email: 'poor@example.com', country: 'KE' },
    })
    await sendRequest('GET /api/v1/customers')
    await sendRequest('GET /api/v1/customers', { query: 'limit=1&sort=createdAt:asc&search=a' })
    for (const { uuid } of [customer, poor.customer]) {
      await sendRequest('GET /api/v1/customers/{uuid}', { path: uuid })
      await sendRequest(METHODS, { path: uuid })
    }
    await sendRequest('GET /api/v1/wallet/balance')
    await sendRequest('GET /api/v1/wallet/balance', { query: 'currency=ZMW' })
    await sendRequest('GET /api/v1/misc/currencies')
    await sendRequest('GET /api/v1/misc/countries')
    await sendRequest('GET /api/v1/misc/gateways')
    await sendRequest('GET /api/v1/misc/routes')
    await sendRequest('GET /api/v1/misc/routes', { query: 'currency=XOF&country=SN' })
  })

  it('documents the writes to customers', async () => {
    const { api: own } = await service.newMerchant()
    const CUSTOMERS = '/api/v1/customers'
    const body = { ...CUSTOMER, email: 'written@example.com', country: 'KE', metadata: { a: [null] } }
    const written = await sendRequest(`POST ${CUSTOMERS}`, { api: own, body })
    await sendRequest(`PATCH ${CUSTOMERS}/{uuid}`, {
      api: own,
      path: written.body.data.uuid,
      body: { phone: null },
    })
    await expectApiError(
      sendRequest(`POST ${CUSTOMERS}`, { api: own, body: { ...body, country: 'UG' } }),
      'customer_exists',
    )
    const { customer } = await payWith(own, 'card_success')
    const methods = await sendRequest(METHODS, { api: own, path: customer.uuid })
    const path = [customer.uuid, methods.body.data[0].uuid]
    await sendRequest(`POST ${CUSTOMERS}/{uuid}/payment-methods/{methodUuid}/default`, { api: own, path })
    await sendRequest(`DELETE ${CUSTOMERS}/{uuid}/payment-methods/{methodUuid}`, { api: own, path })
    await sendRequest(`POST ${CUSTOMERS}/{uuid}/block`, { api: own, path: customer.uuid })
    await sendRequest(`POST ${CUSTOMERS}/{uuid}/unblock`, { api: own, path: customer.uuid })
    await sendRequest(`GET ${CUSTOMERS}/{uuid}/payments`, { api: own, path: customer.uuid, query: 'limit=1' })
  })

  it('documents lists of payments and charges', async () => {
    await sendRequest(CHARGE, { body: chargeBody(await saveMethod(api, 'card_success')) })
    for (const name of ['GET /api/v1/payments', 'GET /api/v1/checkout/payments', 'GET /api/v1/charges']) {
      await sendRequest(name)
      const { body } = await sendRequest(name, {
        query: 'status=successful&currency=KES&limit=1&search=example',
      })
      if (body.meta.nextCursor !== null)
        await sendRequest(name, {
          query: `cursor=${body.meta.nextCursor}&status=successful&currency=KES&limit=1`,
        })
      await expectApiError(sendRequest(name, { query: 'limit=0' }), 'validation_failed')
    }
  })

  it('documents the wallet statement, and chargebacks in every state', async () => {
    const { api: own } = await service.newMerchant()
    for (const outcomes of [['open', 'won'], ['open', 'lost'], []]) {
      const { reference, uuid } = await payWith(own, 'card_success')
      const path = reference
      for (const outcome of outcomes)
        await sendRequest('POST /api/v1/sandbox/payments/{reference}/dispute', {
          api: own,
          path,
          body: { outcome },
        })
      if (outcomes.length === 0)
        await sendRequest('POST /api/v1/sandbox/payments/{reference}/reverse', { api: own, path })
      await sendRequest(PAYMENT, { api: own, path: uuid })
    }
    await sendRequest('GET /api/v1/disputes', { api: own })
    await sendRequest('GET /api/v1/sandbox/clock', { api: own })
    await sendRequest('POST /api/v1/sandbox/clock/advance', { api: own, body: { seconds: 60 } })
    await sendRequest('GET /api/v1/wallet/transactions', { api: own })
    const query = 'type=dispute&currency=KES&limit=1'
    await sendRequest('GET /api/v1/wallet/transactions', { api: own, query })
    await sendRequest('GET /api/v1/wallet/transactions/export', { api: own })
    await sendRequest('GET /api/v1/audit', { api: own, query: 'limit=5' })
    await sendRequest('GET /api/v1/audit/export', { api: own })
    const odd = { api: own, query: 'payment=x' }
    await expectApiError(sendRequest('GET /api/v1/wallet/transactions', odd), 'invalid_uuid')
    await expectApiError(sendRequest('GET /api/v1/wallet/transactions/export', odd), 'invalid_uuid')
  })

  it('documents API keys', async () => {
    const body = { name: 'Report', scopes: ['wallet:read'], allowedIps: ['127.0.0.1'] }
    const { keyId } = (await sendRequest('POST /api/v1/api-keys', { body })).body.data
    await sendRequest('GET /api/v1/api-keys')
    await sendRequest('GET /api/v1/api-keys/{keyId}', { path: keyId })
    await sendRequest('POST /api/v1/api-keys/{keyId}/rotate', { path: keyId, body: {} })
    await sendRequest('POST /api/v1/api-keys/{keyId}/revoke', { path: keyId, body: {} })
    await expectApiError(
      sendRequest('GET /api/v1/api-keys/{keyId}', { path: '000000000000' }),
      'api_key_not_found',
    )
  })

  it('documents transfers to the merchant in every state', async () => {
    const { uuid: account } = (await sendRequest('POST /api/v1/p2p/accounts', { body: WALLET })).body.data
    await sendRequest('PATCH /api/v1/p2p/accounts/{uuid}', { path: account, body: { accountName: 'Books' } })
    await sendRequest('GET /api/v1/p2p/accounts/{uuid}', { path: account })
    await sendRequest('GET /api/v1/p2p/accounts')
    const begin = async () =>
      (await sendRequest('POST /api/v1/p2p/payments', { body: p2pBody() })).body.data.uuid
    const actOnTransfer = (word: string, path: string, body?: unknown) =>
      sendRequest(`POST /api/v1/p2p/payments/{uuid}/${word}`, { path, body })
    const [confirmed, short, rejected, cancelled] = [
      await begin(),
      await begin(),
      await begin(),
      await begin(),
    ]
    await actOnTransfer('confirm', confirmed, { receivedAmount: 5000 })
    await actOnTransfer('confirm', short, { receivedAmount: 1.5 })
    await actOnTransfer('mark-paid', rejected)
    await actOnTransfer('reject', rejected, { reason: 'Nothing came.' })
    await actOnTransfer('cancel', cancelled)
    for (const path of [confirmed, short, rejected, cancelled])
      await sendRequest('GET /api/v1/p2p/payments/{uuid}', { path })
    await sendRequest('GET /api/v1/p2p/payments', { query: 'limit=2' })
    await expectApiError(actOnTransfer('cancel', confirmed), 'invalid_state')
    await sendRequest('DELETE /api/v1/p2p/accounts/{uuid}', { path: account })
    await expectApiError(
      sendRequest('POST /api/v1/p2p/payments', { body: p2pBody() }),
      'p2p_account_required',
    )
  })

  it('documents webhook endpoints, events and their deliveries', async () => {
    const { api: own } = await service.newMerchant()
    const ENDPOINT = '/api/v1/webhooks/endpoints/{uuid}'
    const url = 'http://127.0.0.1:9/closed'
    const { uuid: path } = (await sendRequest('POST /api/v1/webhooks/endpoints', { api: own, body: { url } }))
      .body.data
    await payWith(own, 'card_success', { customer: PAYER })
    await sendRequest('GET /api/v1/webhooks/endpoints', { api: own })
    await sendRequest(`GET ${ENDPOINT}`, { api: own, path })
    await sendRequest(`POST ${ENDPOINT}/rotate-secret`, { api: own, path, body: {} })
    const { id } = (await sendRequest(`POST ${ENDPOINT}/test`, { api: own, path })).body.data
    const deliveries = () => sendRequest('GET /api/v1/events/{uuid}/deliveries', { api: own, path: id })
    await eventually(deliveries, ({ body }) => body.data[0].attempts.length > 0, 10_000)
    await sendRequest('GET /api/v1/events', { api: own, query: 'type=payment.successful&limit=1' })
    await sendRequest('GET /api/v1/events/{uuid}', { api: own, path: id })
    await sendRequest('POST /api/v1/events/{uuid}/replay', { api: own, path: id, body: { endpoint: path } })
    const range = { from: '2026-01-01T00:00:00.000Z', to: '2126-01-01T00:00:00.000Z' }
    const replay = await sendRequest('POST /api/v1/events/replay', { api: own, body: range })
    await sendRequest('GET /api/v1/webhooks/replays/{uuid}', { api: own, path: replay.body.data.uuid })
    const unknown = { api: own, path: id }
    await expectApiError(sendRequest('GET /api/v1/webhooks/replays/{uuid}', unknown), 'replay_not_found')
    await sendRequest(`PATCH ${ENDPOINT}`, { api: own, path, body: { enabled: false } })
    await expectApiError(sendRequest(`POST ${ENDPOINT}/test`, { api: own, path }), 'invalid_state')
    await sendRequest(`DELETE ${ENDPOINT}`, { api: own, path })
    await expectApiError(sendRequest(`GET ${ENDPOINT}`, { api: own, path }), 'webhook_endpoint_not_found')
    const hidden = { api: own, body: { url: 'https://10.0.0.1/' } }
    await expectApiError(sendRequest('POST /api/v1/webhooks/endpoints', hidden), 'webhook_url_not_allowed')
  })

  it('documents exports, timelines and reports', async () => {
    // A file takes several requests of the rate limit.
    const { api: own } = await service.newMerchant(['*'], { perSecond: 1_000, burst: 5_000 })
    await sendRequest('GET /api/v1/reports/collections', {
      query: 'from=2026-01-01&to=2026-12-31&groupBy=day,status',
    })
    const { uuid, customer } = await payWith(own, 'card_success')
    await sendRequest('GET /api/v1/payments/{uuid}/timeline', { api: own, path: uuid })
    const link = await own.post('/api/v1/payment-links', { title: 'T', amount: 5, currency: 'KES' })
    const uuids: Record<string, string> = { customers: customer.uuid, 'payment-links': link.body.data.uuid }
    for (const { name, path } of operations.filter((operation) => operation.path.endsWith('/export'))) {
      const [, noun = ''] = /^\/api\/v1\/([\w-]+)\/\{/.exec(path) ?? []
      const input = { path: uuids[noun] ?? '', api: own }
      await sendRequest(name, input)
      await expectApiError(sendRequest(name, { ...input, query: 'createdTo=x' }), 'validation_failed')
    }
  })

  it('documents cases', async () => {
    const { api: own, uuid } = await service.newMerchant()
    await requireTwoPeople(service.admin, uuid, 1250)
    const path = await newProposal(own)
    await sendRequest('GET /api/v1/cases', { api: own, query: 'state=open' })
    await sendRequest('GET /api/v1/cases/{uuid}', { api: own, path })
    await sendRequest('POST /api/v1/cases/{uuid}/reject', { api: own, path })
    await requireTwoPeople(service.admin, uuid, 5000)
    const body = { resolution: 'accept', note: 'Checked.' }
    const resolve = (resolution: string) =>
      sendRequest('POST /api/v1/cases/{uuid}/resolve', { api: own, path, body: { ...body, resolution } })
    await resolve('accept')
    await expectApiError(resolve('mark_failed'), 'case_resolved')
  })

  it('checks at least one response of every operation', () => {
    assert.deepEqual(
      operations.map(({ name }) => name).filter((name) => !exampleShapes.operations.has(name)),
      [],
    )
  })

  it('documents errors that every operation may return', async () => {
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
      const isForLinks = operation.description.includes('`links:')
      const as = (client: Api) => sendRequest(name, { api: client, path: UNKNOWN_UUID, body: {} })
      await expectApiError(as(service.apiWith(undefined)), 'missing_api_key')
      await expectApiError(as(service.apiWith('nonsense')), 'invalid_api_key')
      await expectApiError(as(service.apiWith('cowry_live_x')), 'mode_mismatch')
      await expectApiError(as(isForLinks ? other : narrow), 'insufficient_scope')
      await expectApiError(as(service.apiWith(made.body.data.apiKey)), 'ip_not_allowed')
      const concurrentRequests = await Promise.all([as(limited), as(limited), as(limited)])
      assert.ok(concurrentRequests.some(({ body }) => body?.error?.code === 'rate_limited'))
    }
  })

  it('documents errors of a body', async () => {
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
        assertDocumented(operation, answer)
        assert.equal(answer.body.error?.code ?? answer.body.code, code, `${operation.name}: ${answer.text}`)
      }
    }
  })

  it('documents errors of payments and charges', async () => {
    const token = await saveMethod(api, 'card_success')
    const used = initiateBody()
    await sendRequest(INITIATE, { body: used })
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
    for (const [name, body, code] of wrong) await expectApiError(sendRequest(name, { body }), code)
    const complete = { path: used.reference, body: { instrument: 'card_success' } }
    await sendRequest(COMPLETE, complete)
    await expectApiError(sendRequest(COMPLETE, complete), 'invalid_state')
  })

  it('documents errors of unknown and malformed identifiers', async () => {
    for (const operation of operations.filter((one) => one.path.includes('{uuid}'))) {
      const { name } = operation
      const body = exampleOf(operation)
      assert.equal((await sendRequest(name, { path: UNKNOWN_UUID, body })).http, 404, name)
      await expectApiError(sendRequest(name, { path: 'nonsense', body }), 'invalid_uuid')
    }
    await expectApiError(sendRequest(VERIFY), 'missing_reference')
    await expectApiError(sendRequest(VERIFY, { query: 'uuid=x' }), 'invalid_uuid')
    await expectApiError(sendRequest(VERIFY, { query: 'reference=unknown' }), 'payment_not_found')
    const balance = sendRequest('GET /api/v1/wallet/balance', { query: 'currency=x' })
    await expectApiError(balance, 'invalid_currency')
    const country = sendRequest('GET /api/v1/misc/routes', { query: 'currency=XOF&country=KE' })
    await expectApiError(country, 'invalid_country')
    await expectApiError(sendRequest('GET /api/v1/customers', { query: 'limit=0' }), 'validation_failed')
  })

  it('has an example with the keys of a real record for every operation', () => {
    assert.deepEqual(exampleShapes.differences(), [])
  })

  it('would notice an added or a missing field', () => {
    const at = ['components', 'schemas', 'PageMeta']
    const flags = { totalIsCapped: false, hasNext: false, hasPrevious: false }
    const meta = { page: 1, limit: 1, total: 0, pageCount: 0, ...flags }
    assert.equal(schemaErrors(at, { ...meta, nextCursor: null }).length, 0)
    assert.equal(schemaErrors(at, meta).length, 1)
    assert.equal(schemaErrors(at, { ...meta, nextCursor: null, extra: 1 }).length, 1)
  })
})
