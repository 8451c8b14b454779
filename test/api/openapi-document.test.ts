import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { API_ERRORS } from '../../src/core/errors.ts'
import { EVENT_TYPE_NAMES } from '../../src/core/event-types.ts'
import { assertEventsDocumented } from '../support/documented-events.ts'
import { shapeDifferences } from '../support/example-shapes.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import {
  codesOf,
  createResponseValidator,
  type Document,
  operationsOf,
  responseExampleOf,
} from '../support/openapi.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const answer = await service.apiWith(undefined).get('/openapi.json')
const document: Document = answer.body
const operations = operationsOf(document)

const FROM_EVERY_KEY = [
  'unknown_field',
  'api_key_in_url',
  'missing_api_key',
  'invalid_api_key',
  'api_key_expired',
  'api_key_revoked',
  'insufficient_scope',
  'merchant_suspended',
  'mode_mismatch',
  'ip_not_allowed',
  'rate_limited',
  'internal_error',
  'temporarily_unavailable',
]
const FROM_EVERY_POST = [
  'validation_failed',
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
  'idempotency_key_reused',
  'duplicate_reference',
  'invalid_currency',
  'amount_out_of_range',
  'amount_precision',
  'card_data_not_allowed',
]

/** The seven operations of the contract: tag, success, and the error codes beyond those of every operation. */
const INTERFACE: Record<string, { tag: string; success: number; codes: string[] }> = {
  'POST /api/v1/checkout/initiate-payment': {
    tag: 'Checkout',
    success: 201,
    codes: [...FROM_EVERY_POST, 'country_required', 'invalid_country', 'no_route_available'],
  },
  'GET /api/v1/checkout/verify-payment': {
    tag: 'Checkout',
    success: 200,
    codes: ['validation_failed', 'missing_reference', 'invalid_uuid', 'payment_not_found'],
  },
  'POST /api/v1/charges/recurring': {
    tag: 'Charges',
    success: 201,
    codes: [
      ...FROM_EVERY_POST,
      'recurring_token_not_found',
      'recurring_token_inactive',
      'customer_mismatch',
      'currency_not_supported_for_token',
    ],
  },
  'GET /api/v1/customers': { tag: 'Customers', success: 200, codes: ['validation_failed'] },
  'GET /api/v1/customers/{uuid}': {
    tag: 'Customers',
    success: 200,
    codes: ['invalid_uuid', 'customer_not_found'],
  },
  'GET /api/v1/customers/{uuid}/payment-methods': {
    tag: 'Customers',
    success: 200,
    codes: ['invalid_uuid', 'customer_not_found'],
  },
  'GET /api/v1/wallet/balance': {
    tag: 'Misc',
    success: 200,
    codes: ['validation_failed', 'invalid_currency'],
  },
  'GET /api/v1/misc/gateways': { tag: 'Misc', success: 200, codes: [] },
  'GET /api/v1/misc/routes': {
    tag: 'Misc',
    success: 200,
    codes: ['validation_failed', 'invalid_currency', 'invalid_country'],
  },
}

describe('the OpenAPI document', () => {
  it('serves OpenAPI 3.1.0, version 1.0, without a key', () => {
    assert.equal(answer.http, 200)
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(document.openapi, '3.1.0')
    assert.equal(document.info.version, '1.0')
    assert.deepEqual(document.servers, [{ url: service.publicUrl }])
  })

  it('is at most 350 KB, and 40 KB in brotli', async () => {
    assert.ok(Buffer.byteLength(answer.text) <= 350 * 1024, `${Buffer.byteLength(answer.text)} bytes`)
    const sizeInBrotli = async () => {
      const { headers } = await service.apiWith(undefined).send('HEAD', '/openapi.json', {
        headers: { 'accept-encoding': 'gzip, br' },
      })
      assert.equal(headers.get('content-encoding'), 'br')
      return Number(headers.get('content-length'))
    }
    // The first responses may be larger: the best quality is made in the background.
    assert.ok((await eventually(sizeInBrotli, (size) => size <= 40_000, 30_000)) > 0)
  })

  it('serves the document that the running service generates', () => {
    assert.deepEqual(document, JSON.parse(JSON.stringify(service.openApi())))
  })

  it('has the seven tags of the contract, followed by two more', () => {
    const tags = document.tags.map(({ name }: { name: string }) => name)
    const ofInterface = ['Checkout', 'P2P', 'Payment Links', 'Customer', 'Customers', 'Misc', 'Charges']
    assert.deepEqual(tags, [...ofInterface, 'Webhooks', 'API keys'])
    for (const { operation } of operations) assert.ok(tags.includes(operation.tags[0]))
  })

  it('documents every operation of the contract, and only served ones', async () => {
    const names = operations.map(({ name }) => name)
    assert.deepEqual(
      Object.keys(INTERFACE).filter((name) => !names.includes(name)),
      [],
    )
    for (const { method, path, name } of operations) {
      const url = path.replaceAll(/\{\w+\}/g, 'x')
      const knock = await service.apiWith(undefined).send(method, url)
      assert.equal(knock.body.error.code, 'missing_api_key', `${name} is served`)
    }
  })

  it('documents the tag, the success and every error of each operation', () => {
    for (const [name, { tag, success, codes }] of Object.entries(INTERFACE)) {
      const documented = operations.find((operation) => operation.name === name)
      assert.ok(documented, name)
      assert.deepEqual(documented.operation.tags, [tag])
      assert.ok(documented.operation.responses[success], name)
      const documentedCodes = Object.values(codesOf(documented)).flat()
      for (const code of [...FROM_EVERY_KEY, ...codes])
        assert.ok(documentedCodes.includes(code), `${name}: ${code}`)
    }
  })

  it('documents each error under its own status, once', () => {
    for (const operation of operations) {
      const codes = codesOf(operation)
      for (const [status, group] of Object.entries(codes))
        for (const code of group)
          assert.equal(API_ERRORS[code as keyof typeof API_ERRORS].http, Number(status))
      const all = Object.values(codes).flat()
      assert.equal(new Set(all).size, all.length, operation.name)
    }
  })

  it('requires the key in the x-api-key header for every operation', () => {
    const { type, in: place, name } = document.components.securitySchemes.apiKey
    assert.deepEqual([type, place, name], ['apiKey', 'header', 'x-api-key'])
    assert.deepEqual(document.security, [{ apiKey: [] }])
    for (const { operation } of operations) assert.equal(operation.security, undefined)
  })

  it('has an id, a summary and the parameters of the path for every operation', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    assert.equal(new Set(ids).size, ids.length)
    for (const { name, path, operation } of operations) {
      assert.match(operation.operationId, /^[a-z][A-Za-z0-9]*\.[a-z][A-Za-z0-9]*$/)
      assert.ok(operation.summary.length > 0)
      const inPath = operation.parameters.filter(({ in: place }: { in?: string }) => place === 'path')
      assert.deepEqual(
        inPath.map((parameter: { name: string }) => `{${parameter.name}}`),
        path.match(/\{\w+\}/g) ?? [],
        name,
      )
      for (const parameter of inPath) assert.equal(parameter.required, true)
    }
  })

  it('documents the parameters of lists with their bounds and defaults', () => {
    const list = operations.find(({ name }) => name === 'GET /api/v1/customers')
    const parameters: { name: string; schema: object }[] = list?.operation.parameters ?? []
    const schemaOf = (name: string) => parameters.find((one) => one.name === name)?.schema
    assert.deepEqual(schemaOf('limit'), { type: 'integer', minimum: 1, maximum: 100, default: 20 })
    assert.deepEqual(schemaOf('search'), { type: 'string', minLength: 1, maxLength: 100 })
    for (const name of ['page', 'cursor', 'createdFrom', 'createdTo', 'sort']) assert.ok(schemaOf(name), name)
  })

  it('says in words what an absent field of a body means, and that a change leaves it as it is', () => {
    const fields = operations.flatMap(({ name, operation }) => {
      const properties = Object(operation.requestBody?.content['application/json'].schema).properties ?? {}
      return Object.entries<Record<string, unknown>>(properties).map(([field, schema]) => ({
        name,
        field,
        schema,
      }))
    })
    const withKeyword = fields.filter(({ schema }) => 'default' in schema).map(({ field }) => field)
    assert.deepEqual([...new Set(withKeyword)], ['currency'])
    const inWords = fields.filter(({ schema }) => / Default: /.test(String(schema.description)))
    assert.ok(inWords.some(({ field }) => field === 'isRecurring'))
    assert.deepEqual(
      inWords.filter(({ name }) => name.startsWith('PATCH')),
      [],
    )
  })

  it('requires all seven fields of a recurring charge', () => {
    const fields = 'reference customer metadata currency amount recurringToken description'
    assert.deepEqual(document.components.schemas.CreateChargeRequest.required, fields.split(' '))
  })

  it('accepts values that a later version may add, of the fields that the API changelog names', () => {
    const { schemaErrors } = createResponseValidator(document, { acceptsNewValues: true })
    const isOpen = (...path: string[]) =>
      schemaErrors(['components', 'schemas', ...path], 'added_later').length === 0
    for (const [record, field] of [
      ['ErrorInfo', 'code'],
      ['Failure', 'code'],
      ['Attempt', 'failureCode'],
      ['Attempt', 'channel'],
      ['Payment', 'channel'],
      ['Payment', 'statusReason'],
      ['Charge', 'channel'],
      ['Charge', 'statusReason'],
    ] as const)
      assert.ok(isOpen(record, 'properties', field), `${record}.${field}`)
    for (const [record, field] of [
      ['Payment', 'status'],
      ['Attempt', 'status'],
      ['ChargedMethod', 'type'],
      ['SandboxExecution', 'kind'],
    ] as const)
      assert.ok(!isOpen(record, 'properties', field), `${record}.${field}`)
  })

  it('has no name for both a schema and a parameter', () => {
    const { schemas, parameters } = document.components
    assert.ok('CustomerFilter' in parameters)
    assert.deepEqual(
      Object.keys(parameters).filter((name) => name in schemas),
      [],
    )
  })

  it('has one schema for every type of event, which the discriminator names', () => {
    const { oneOf, discriminator } = document.components.schemas.Event
    assert.equal(discriminator.propertyName, 'type')
    assert.deepEqual(Object.keys(discriminator.mapping).sort(), EVENT_TYPE_NAMES.toSorted())
    assert.deepEqual(
      oneOf.map(({ $ref }: { $ref: string }) => $ref),
      Object.values(discriminator.mapping),
    )
    const { schema } = document.webhooks.event.post.requestBody.content['application/json']
    assert.deepEqual(schema, { $ref: '#/components/schemas/Event' })
  })

  it('documents every field of the events that are recorded', async () => {
    await makeOneOfEverything(service.api, 'Everything')
    await assertEventsDocumented(service.api, document)
  })

  it('has valid examples for every operation', () => {
    const { schemaErrors } = createResponseValidator(document)
    for (const { name, path, method, operation } of operations) {
      const at = ['paths', path, method.toLowerCase()]
      const [success = ''] = Object.keys(operation.responses)
      const [type = ''] = Object.keys(operation.responses[success].content)
      const schemaPath = [...at, 'responses', success, 'content', type, 'schema']
      const example = responseExampleOf({ name, path, method, operation })
      assert.deepEqual(schemaErrors(schemaPath, example), [], name)
      if (operation.requestBody === undefined) continue
      const request = operation.requestBody.content['application/json']
      assert.deepEqual(
        schemaErrors([...at, 'requestBody', 'content', 'application/json', 'schema'], request.example),
        [],
      )
    }
    for (const [code, { value }] of Object.entries<{ value: unknown }>(document.components.examples))
      assert.deepEqual(schemaErrors(['components', 'schemas', 'Error'], value), [], code)
  })

  it('would notice an example with other keys than a record', () => {
    assert.deepEqual(shapeDifferences({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }), [])
    assert.deepEqual(shapeDifferences({ a: [{ b: 1 }] }, { a: [{}] }), ['.a[0].b is only in the example'])
    assert.deepEqual(shapeDifferences({ a: null }, { a: 1, b: 2 }), ['.b is not in the example'])
    assert.deepEqual(shapeDifferences({ a: '1' }, { a: 1 }), ['.a has another type than the example'])
  })

  it('has only patterns that the regular expressions of every language take', () => {
    // Go's RE2 has no look-around and no back references, and Python's re neither \\p nor \\u{…}.
    const PORTABLE = /^(?!.*(?:\(\?(?!:)|\\[pPukbBAZz1-9]|\\x\{|[+*?}][+?])).*$/s
    const patterns = new Set<string>()
    const formats = new Set<string>()
    JSON.stringify(document, (name, value) => {
      if (name === 'pattern' && typeof value === 'string') patterns.add(value)
      if (name === 'format' && typeof value === 'string') formats.add(value)
      return value
    })
    assert.ok(patterns.size > 5)
    for (const pattern of patterns) {
      assert.match(pattern, PORTABLE)
      // As tools compile it, with and without the u flag.
      assert.ok(new RegExp(pattern) && new RegExp(pattern, 'u'), pattern)
    }
    assert.deepEqual(
      [...formats].filter((name) => !['date', 'date-time', 'email', 'uri', 'uuid'].includes(name)),
      [],
    )
  })

  it('says that a request may have no other fields, except in free-form data', () => {
    let objects = 0
    const assertClosed = (schema: Document, at: string): void => {
      if (typeof schema !== 'object' || schema === null) return
      if (schema.properties && schema.type === 'object') {
        assert.equal(schema.additionalProperties, false, at)
        objects += 1
      }
      for (const [name, member] of Object.entries(schema)) assertClosed(member, `${at} ${name}`)
    }
    for (const { name, operation } of operations) {
      const schema = operation.requestBody?.content['application/json'].schema
      if (!schema) continue
      assertClosed(schema, name)
      if ('metadata' in schema.properties)
        assert.equal(schema.properties.metadata.additionalProperties, true, name)
    }
    assert.ok(objects > 20, `${objects} objects`)
  })

  it('has only resolvable references, and none of our internal keywords', () => {
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [name, member] of Object.entries(value)) {
        assert.ok(!name.startsWith('x-') || name === 'x-tagGroups', name)
        if (name === '$ref') {
          const parts = String(member).slice(2).split('/')
          assert.ok(
            parts.reduce((node: Document, part) => node?.[part], document),
            String(member),
          )
        }
        walk(member)
      }
    }
    walk(document)
  })
})
