import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { API_ERRORS } from '../../src/core/errors.ts'
import { codesOf, type Document, operationsOf } from '../support/openapi.ts'
import { testService } from '../support/service.ts'

const PATH = '/admin/v1/openapi.json'

const service = await testService({ after })
const answer = await service.admin.get(PATH)
const document: Document = answer.body
const operations = operationsOf(document)

/** Errors of requests that reach no operation, and of pages for payers. */
const WITHOUT_OPERATION = ['browser_not_allowed', 'method_not_allowed', 'phone_busy', 'route_not_found']

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
