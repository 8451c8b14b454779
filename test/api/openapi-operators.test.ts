import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { API_ERRORS } from '../../src/core/errors.ts'
import { UNKNOWN_UUID } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { newProposal, requireTwoPeople } from '../support/cases.ts'
import { plainAddress } from '../support/cells.ts'
import { signInAs } from '../support/dashboard.ts'
import { testDatabaseUrl } from '../support/database.ts'
import { createExampleShapes } from '../support/example-shapes.ts'
import {
  codesOf,
  createResponseValidator,
  type Document,
  operationsOf,
  responseExampleOf,
} from '../support/openapi.ts'
import { testService } from '../support/service.ts'

const PATH = '/admin/v1/openapi.json'

const service = await testService({ after }, { cells: 2, cellAddress: plainAddress({ after }) })
const answer = await service.admin.get(PATH)
const document: Document = answer.body
const operations = operationsOf(document)

/** Errors of requests that reach no operation, of pages for payers, and of the dashboard. */
const WITHOUT_OPERATION = [
  ...[
    'browser_not_allowed',
    'method_not_allowed',
    'phone_busy',
    'refund_approval_required',
    'route_not_found',
  ],
]

describe('the OpenAPI document of operators', () => {
  it('is served to the operator token only', async () => {
    assert.equal(answer.http, 200)
    assert.equal(answer.headers.get('cache-control'), 'private, no-cache')
    assert.deepEqual(document.servers, [{ url: service.publicUrl }])
    for (const api of [service.api, service.apiWith(undefined)])
      assert.equal((await api.get(PATH)).body.error.code, 'invalid_admin_token')
  })

  it('has operations under /admin/v1 that the service has', async () => {
    assert.ok(operations.length > 30, `${operations.length} operations`)
    for (const { method, path, name } of operations) {
      assert.match(path, /^\/admin\/v1\//)
      const knock = await service.apiWith(undefined).send(method, path.replaceAll(/\{\w+\}/g, 'x'))
      assert.equal(knock.body.error.code, 'invalid_admin_token', `${name} is served`)
    }
  })

  it('has a unique id and a described tag for every operation of operators', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    assert.equal(new Set(ids).size, ids.length)
    const tags = document.tags.map(({ name }: { name: string }) => name)
    const used = operations.flatMap(({ operation }) => operation.tags)
    assert.deepEqual([...new Set(used)].sort(), tags.toSorted())
    for (const { operation } of operations)
      assert.match(operation.operationId, /^[a-z][A-Za-z0-9]*\.[a-z][A-Za-z0-9]*$/)
  })

  it('has a named record in every response of operators that is no file', () => {
    for (const [path, methods] of Object.entries<Document>(document.paths))
      for (const [method, { responses }] of Object.entries<Document>(methods)) {
        const [success] = Object.values<Document>(responses)
        const schema = success.content['application/json']?.schema
        if (!schema) continue
        const reference = schema.$ref ?? schema.properties.data.items?.$ref
        assert.match(String(reference), /^#\/components\/schemas\/\w+$/, `${method} ${path}`)
      }
  })

  it('names, as the document of merchants does, pages that are served and no file of the repository', async () => {
    const text = JSON.stringify([document, service.openApi()])
    assert.deepEqual(text.match(/[\w/-]+\.md\b/g), null)
    const pages = new Set(text.match(/(?<=[ (])\/docs\/[\w-]+/g))
    assert.ok(pages.size > 2)
    for (const page of pages) assert.equal((await fetch(`${service.url}${page}`)).status, 200, page)
  })

  it('together with the document of merchants has an example for every error code of an operation', () => {
    const merchants: Document = service.openApi()
    const examples = [merchants, document].flatMap(({ components }) => Object.keys(components.examples))
    const returned = [...operations, ...operationsOf(merchants)].flatMap((operation) =>
      Object.values(codesOf(operation)).flat(),
    )
    assert.deepEqual([...new Set(examples)].sort(), [...new Set(returned)].sort())
    const others = Object.keys(API_ERRORS).filter((code) => !returned.includes(code))
    assert.deepEqual(others.sort(), WITHOUT_OPERATION)
  })
})

const { assertDocumented, schemaErrors } = createResponseValidator(document)
const exampleShapes = createExampleShapes()

interface RequestInput {
  /** The values of the path parameters, in their order. */
  path?: string[]
  query?: string
  /** Absent: the documented example. */
  body?: unknown
}

/** Calls the operation as an operator, and checks the response against the document. */
async function sendRequest(name: string, { path = [], query = '', body }: RequestInput = {}) {
  const operation = operations.find((one) => one.name === name)
  assert.ok(operation, name)
  const values = [...path]
  const filled = operation.path.replaceAll(/\{\w+\}/g, () => values.shift() ?? '')
  const sent = body ?? operation.operation.requestBody?.content['application/json'].example
  const headers = { 'content-type': 'application/json' }
  const request = sent === undefined ? {} : { body: JSON.stringify(sent), headers }
  const response = await service.admin.send(operation.method, filled + query, request)
  assertDocumented(operation, response)
  if (response.http < 300) exampleShapes.collect(operation, response)
  return response
}

/** The same, and its data. */
async function dataOf(name: string, input: RequestInput = {}) {
  const { http, body, text } = await sendRequest(name, input)
  assert.ok(http < 300, `${name}: ${text}`)
  return body?.data
}

describe('responses to operators and their OpenAPI document', () => {
  const MERCHANT = '/admin/v1/merchants/{uuid}'
  const ACCOUNT = `${MERCHANT}/gateways/{gateway}`
  const FILES = '/admin/v1/reconciliations'
  const BREAKS = '/admin/v1/reconciliation-breaks'

  it('documents merchants and their keys', async () => {
    const { uuid } = await dataOf('POST /admin/v1/merchants')
    const path = [uuid]
    await dataOf('GET /admin/v1/merchants', { query: '?limit=1' })
    await dataOf(`GET ${MERCHANT}`, { path })
    await dataOf(`PATCH ${MERCHANT}`, { path })
    await dataOf(`POST ${MERCHANT}/suspend`, { path })
    await dataOf(`POST ${MERCHANT}/activate`, { path })
    const { keyId } = await dataOf(`POST ${MERCHANT}/keys`, { path })
    await dataOf(`GET ${MERCHANT}/keys`, { path })
    const rotated = await dataOf('POST /admin/v1/keys/{keyId}/rotate', { path: [keyId] })
    await dataOf('POST /admin/v1/keys/{keyId}/revoke', { path: [rotated.keyId] })
    for (const name of [`GET ${MERCHANT}`, `PATCH ${MERCHANT}`, `POST ${MERCHANT}/keys`]) {
      assert.equal((await sendRequest(name, { path: [UNKNOWN_UUID] })).http, 404)
      assert.equal((await sendRequest(name, { path: ['nonsense'] })).http, 400)
    }
    assert.equal((await sendRequest('POST /admin/v1/merchants', { body: { nam: 'x' } })).http, 400)
  })

  it('documents invitations of people', async () => {
    const { uuid } = await service.newMerchant()
    await dataOf(`POST ${MERCHANT}/owner-invitations`, { path: [uuid] })
    const { uuid: invitation } = await dataOf('POST /admin/v1/operator-invitations')
    await dataOf('GET /admin/v1/operator-invitations')
    const revoke = 'POST /admin/v1/operator-invitations/{uuid}/revoke'
    await dataOf(revoke, { path: [invitation] })
    assert.equal((await sendRequest(revoke, { path: [invitation] })).http, 404)
    await dataOf('POST /admin/v1/demo-links', { body: {} })
    const unknown = { path: [UNKNOWN_UUID] }
    assert.equal((await sendRequest(`POST ${MERCHANT}/owner-invitations`, unknown)).http, 404)
  })

  it('documents accounts of people', async () => {
    const { uuid: merchantId } = await service.newMerchant()
    const { email } = await signInAs(service, merchantId)
    const query = `?email=${encodeURIComponent(email)}`
    const [{ uuid }] = await dataOf('GET /admin/v1/users', { query })
    for (const verb of ['disable', 'enable']) {
      await dataOf(`POST /admin/v1/users/{uuid}/${verb}`, { path: [uuid] })
      const unknown = { path: [UNKNOWN_UUID] }
      assert.equal((await sendRequest(`POST /admin/v1/users/{uuid}/${verb}`, unknown)).http, 404)
    }
  })

  it('documents gateways and accounts of merchants there', async () => {
    const { uuid } = await service.newMerchant()
    const path = [uuid, 'paystack']
    assert.equal((await sendRequest(`GET ${ACCOUNT}`, { path })).http, 404)
    await dataOf(`PUT ${ACCOUNT}`, { path, query: '?probe=false' })
    await dataOf(`GET ${ACCOUNT}`, { path })
    await dataOf(`GET ${MERCHANT}/gateways`, { path })
    await dataOf(`DELETE ${ACCOUNT}`, { path })
    await dataOf('GET /admin/v1/gateways')
    await dataOf('GET /admin/v1/gateway-checks')
  })

  it('documents cases of all merchants', async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    await requireTwoPeople(service.admin, merchant)
    await dataOf('POST /admin/v1/cases/{uuid}/reject', { path: [await newProposal(api)] })
    const { uuid: payment } = await payWith(api, 'transfer_underpaid')
    const [found] = await dataOf('GET /admin/v1/cases', { query: `?payment=${payment}` })
    const path = [found.uuid]
    await dataOf('GET /admin/v1/cases/{uuid}', { path })
    await dataOf('GET /admin/v1/cases/{uuid}/timeline', { path })
    await dataOf('POST /admin/v1/cases/{uuid}/resolve', { path })
    assert.equal((await sendRequest('POST /admin/v1/cases/{uuid}/resolve', { path })).http, 200)
    assert.equal((await sendRequest('GET /admin/v1/cases/{uuid}', { path: [UNKNOWN_UUID] })).http, 404)
  })

  it('documents reconciliations and their breaks', async () => {
    await dataOf(`POST ${FILES}/preview`)
    const { uuid } = await dataOf(`POST ${FILES}`)
    await dataOf(`GET ${FILES}`)
    await dataOf(`GET ${FILES}/{uuid}`, { path: [uuid] })
    const [found] = await dataOf(`GET ${BREAKS}`)
    const path = [found.uuid]
    await dataOf(`GET ${BREAKS}/{uuid}`, { path })
    await dataOf(`POST ${BREAKS}/{uuid}/assign`, { path })
    await dataOf(`POST ${BREAKS}/{uuid}/close`, { path })
    assert.equal((await sendRequest(`GET ${BREAKS}/{uuid}`, { path: [UNKNOWN_UUID] })).http, 404)
  })

  it('documents the audit log and the state of the instance', async () => {
    for (const path of ['audit', 'audit/export', 'audit/verify', 'invariants', 'jobs', 'logs'])
      await dataOf(`GET /admin/v1/${path}`)
    await dataOf('POST /admin/v1/encryption/reseal')
    assert.equal((await sendRequest('GET /admin/v1/logs', { query: '?limit=0' })).http, 400)
  })

  it('documents cells', async (t) => {
    await dataOf('GET /admin/v1/cells')
    await dataOf('POST /admin/v1/cells/{name}/activate', { path: ['cell-1'] })
    const { uuid } = await service.newMerchant()
    const cell = (await service.cells.of(uuid)) === 0 ? 'cell-1' : 'main'
    await dataOf('POST /admin/v1/merchants/{uuid}/move', { path: [uuid], body: { cell, keepSeconds: 60 } })
    await dataOf('GET /admin/v1/merchants/{uuid}/move', { path: [uuid] })
    // The move may have ended before it could be cancelled; one that was cancelled is answered as such.
    await service.cells.open(0).script('update merchant_moves set is_cancelled = true')
    await dataOf('POST /admin/v1/merchants/{uuid}/move/cancel', { path: [uuid] })
    await dataOf('POST /admin/v1/cells/{name}/drain', { path: ['cell-1'] })
    const body = { name: 'west-1', url: await testDatabaseUrl(t) }
    await dataOf('POST /admin/v1/cells', { body })
    assert.equal((await sendRequest('POST /admin/v1/cells', { body })).http, 400)
    const ofAnother = { path: ['cell-1'], body: { url: body.url } }
    assert.equal((await sendRequest('POST /admin/v1/cells/{name}/url', ofAnother)).http, 400)
    await dataOf('POST /admin/v1/cells/{name}/url', { path: ['west-1'], body: { url: body.url } })
    await dataOf('POST /admin/v1/cells/{name}/remove', { path: ['west-1'] })
  })

  it('checks at least one response of every operation of operators', () => {
    const unchecked = operations.filter(({ name }) => !exampleShapes.operations.has(name))
    assert.deepEqual(
      unchecked.map(({ name }) => name),
      [],
    )
  })

  it('has a valid example with the keys of a real record for every operation of operators', () => {
    assert.deepEqual(exampleShapes.differences(), [])
    for (const { path, method, operation } of operations) {
      const at = ['paths', path, method.toLowerCase()]
      const [success = ''] = Object.keys(operation.responses)
      const [type = ''] = Object.keys(operation.responses[success].content)
      const schemaPath = [...at, 'responses', success, 'content', type, 'schema']
      const example = responseExampleOf({ name: operation.operationId, path, method, operation })
      assert.deepEqual(schemaErrors(schemaPath, example), [], operation.operationId)
    }
  })
})
