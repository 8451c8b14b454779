import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type TSchema, Type } from 'typebox'
import { fakeShell, thingRoutes } from '../../../test/support/fake-shell.ts'
import { operationsOf as resolvedOperations } from '../../../test/support/openapi.ts'
import { created, type OperationId, route } from '../../kit/http/route.ts'
import { NamedEnum, Nullable, named, namedExtension, namedObject, openEnum } from '../../kit/http/schema.ts'
import { openApiDocument } from './document.ts'

interface Operation {
  operationId: string
  tags: string[]
  parameters: { name?: string; in?: string; required?: boolean; schema?: object; $ref?: string }[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, { description: string; headers: object; content: Record<string, Media> }>
}

interface Media {
  schema: object
  example?: unknown
  examples?: Record<string, { value: unknown }>
}

interface Document {
  openapi: string
  info: { title: string; version: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  security: object[]
  paths: Record<string, Record<string, Operation>>
  components: {
    securitySchemes: Record<string, object>
    examples: Record<string, { value: unknown }>
    schemas: Record<string, Record<string, unknown>>
    parameters: Record<string, object>
    responses: Record<string, object>
  }
}

function documentOf(routes = thingRoutes({}), publicUrl?: string): Document {
  // A boundary: the test reads the document as a client gets it, after JSON serialization.
  return JSON.parse(JSON.stringify(openApiDocument(routes, { publicUrl }))) as Document
}

function operationsOf(document: Document): Operation[] {
  return resolvedOperations(document).map(({ operation }) => operation)
}

/** The operation of a path, with everything that it refers to. */
function operationAt(document: Document, name: string): Operation | undefined {
  return resolvedOperations(document).find((one) => one.name === name)?.operation
}

function resolve(document: object, ref: string): unknown {
  const segments = ref.replace(/^#\//, '').split('/')
  return segments.reduce<unknown>((value, segment) => Reflect.get(Object(value), segment), document)
}

function everyValue(value: unknown, visit: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    visit(key, member)
    everyValue(member, visit)
  }
}

const potRoute = (operationId: OperationId, response: { data: TSchema; list?: boolean }) =>
  route({
    method: 'POST',
    path: `/api/v1/${operationId}`,
    tag: 'Misc',
    scope: 'wallet:read',
    operationId,
    summary: 'Pots',
    response: { http: 201, ...response },
    errors: [],
    handle: async () => created('', {}),
  })

describe('the OpenAPI document', () => {
  it('has the title, version and tags of the interface', () => {
    const document = documentOf()
    assert.equal(document.openapi, '3.1.0')
    assert.equal(document.info.title, 'Cowry')
    assert.equal(document.info.version, '1.0')
    assert.deepEqual(
      document.tags.map((tag) => tag.name),
      [
        'Checkout',
        'P2P',
        'Payment Links',
        'Customer',
        'Customers',
        'Misc',
        'Charges',
        'Webhooks',
        'API keys',
      ],
    )
    assert.ok(document.tags.every((tag) => tag.description.length > 10))
    assert.deepEqual(document.security, [{ apiKey: [] }])
    const { in: place, name } = Object(document.components.securitySchemes.apiKey)
    assert.deepEqual([place, name], ['header', 'x-api-key'])
  })

  it('names the server, or keeps its URL relative', () => {
    assert.deepEqual(documentOf(undefined, 'https://pay.example').servers, [{ url: 'https://pay.example' }])
    assert.deepEqual(documentOf().servers, [{ url: '/' }])
  })

  it('has one operation per route, each with a unique id', () => {
    const ids = operationsOf(documentOf()).map((operation) => operation.operationId)
    assert.deepEqual(ids.sort(), ['things.create', 'things.get', 'things.list', 'things.touch'])
  })

  it('has no dangling references, and none of our own schema keywords', () => {
    const document = documentOf()
    everyValue(document, (key, value) => {
      if (key === '$ref') assert.notEqual(resolve(document, String(value)), undefined, String(value))
      assert.equal(/^(x-|~)/.test(key) && key !== 'x-tagGroups', false, key)
    })
  })

  it('documents every error code of an operation under its status, with an example', () => {
    const operation = operationAt(documentOf(), 'POST /api/v1/things')
    const codes = Object.entries(operation?.responses ?? {}).map(([status, response]) => [
      status,
      Object.keys(response.content['application/json']?.examples ?? {}),
    ])
    assert.deepEqual(Object.fromEntries(codes), {
      201: [],
      400: ['validation_failed', 'unknown_field', 'malformed_json', 'api_key_in_url'],
      401: ['missing_api_key', 'invalid_api_key', 'api_key_expired', 'api_key_revoked'],
      403: ['insufficient_scope', 'merchant_suspended', 'mode_mismatch', 'ip_not_allowed'],
      413: ['payload_too_large'],
      415: ['unsupported_media_type'],
      422: ['idempotency_key_reused'],
      429: ['rate_limited'],
      500: ['internal_error'],
      503: ['temporarily_unavailable'],
    })
  })

  it('has an example for every error code that an operation can return, and for no other', () => {
    const document = documentOf()
    const returned = operationsOf(document).flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ content }) =>
        Object.keys(content['application/json']?.examples ?? {}),
      ),
    )
    assert.deepEqual(Object.keys(document.components.examples).sort(), [...new Set(returned)].sort())
  })

  it('includes the error codes of the route', () => {
    const [first] = thingRoutes({})
    assert.ok(first)
    const document = documentOf([
      { ...first, errors: ['duplicate_reference', 'no_route_available', 'invalid_country'] },
    ])
    const responses = operationAt(document, 'POST /api/v1/things')?.responses
    assert.ok(responses?.['409']?.content['application/json']?.examples?.duplicate_reference)
    assert.ok(responses?.['422']?.content['application/json']?.examples?.no_route_available)
    assert.deepEqual(Object.keys(responses?.['400']?.content ?? {}), ['application/json'])
  })

  it('documents headers, and the Idempotency-Key of every POST', () => {
    const document = documentOf()
    const post = operationAt(document, 'POST /api/v1/things')
    assert.ok(post?.parameters.some((parameter) => parameter.name === 'Idempotency-Key'))
    assert.deepEqual(Object.keys(post?.responses['201']?.headers ?? {}), ['Idempotent-Replayed'])
    assert.deepEqual(Object.keys(post?.responses['429']?.headers ?? {}), ['X-Request-Id', 'Retry-After'])
    assert.equal(operationAt(document, 'GET /api/v1/things')?.parameters.length, 4)
  })

  it('describes path and query parameters', () => {
    const parameters = operationAt(documentOf(), 'GET /api/v1/things/{uuid}')?.parameters
    assert.deepEqual(parameters, [
      { name: 'uuid', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
    ])
  })

  it('has examples that are valid against their own schemas', () => {
    const document = documentOf()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema(document, 'document')
    const check = (schema: object, example: unknown, where: string) => {
      const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'))
      const validate = ajv.compile(absolute)
      assert.ok(validate(example), `${where}: ${ajv.errorsText(validate.errors)}`)
    }
    let checked = 0
    for (const operation of operationsOf(document)) {
      const bodies = Object.values(operation.requestBody?.content ?? {})
      const responses = Object.values(operation.responses).flatMap((response) =>
        Object.values(response.content),
      )
      for (const { schema, example, examples } of [...bodies, ...responses]) {
        const shared = Object.values(examples ?? {}).map(({ value }) => value)
        for (const value of [...(example === undefined ? [] : [example]), ...shared]) {
          check(schema, value, operation.operationId)
          checked += 1
        }
      }
    }
    assert.ok(checked > 40)
  })

  it('shows nullable fields and enums in their short form', () => {
    const response = Type.Object({
      note: Type.Union([Type.String(), Type.Null()]),
      kind: Type.Union([Type.Literal('a'), Type.Literal('b')], { description: 'Which.' }),
      both: Type.Union([Type.Unsafe<string>({ type: 'string', enum: ['a'] }), Type.Null()]),
    })
    const document = documentOf([
      route({
        method: 'POST',
        path: '/api/v1/words',
        tag: 'Misc',
        scope: 'wallet:read',
        operationId: 'words.create',
        summary: 'Words',
        response: { http: 201, data: response },
        errors: [],
        handle: async () => created('', {}),
      }),
    ])
    const schema =
      document.paths['/api/v1/words']?.post?.responses['201']?.content['application/json']?.schema
    assert.deepEqual(Object(schema).properties.data.properties, {
      note: { type: ['string', 'null'] },
      kind: { description: 'Which.', type: 'string', enum: ['a', 'b'] },
      both: { type: ['string', 'null'], enum: ['a', null] },
    })
  })

  it('writes a named schema once, under its name, and refers to it', () => {
    const Colour = named('Colour', Type.Unsafe<string>({ type: 'string', enum: ['red'], 'x-code': 'x' }))
    const Pot = namedObject('Pot', {
      colour: Colour,
      lid: Type.Optional(Nullable(Type.Unsafe<string>({ ...Colour, description: 'Of the lid.' }))),
      other: Type.Unsafe<string>({ ...Colour, enum: ['blue'] }),
    })
    const BigPot = namedExtension('BigPot', Pot, { litres: Type.Integer() }, { description: 'For many.' })
    const colour = { $ref: '#/components/schemas/Colour' }
    const document = documentOf([
      potRoute('pots.list', { data: Pot, list: true }),
      potRoute('bigPots.create', { data: BigPot }),
    ])
    const { schemas } = document.components
    assert.deepEqual(schemas.Colour, { type: 'string', enum: ['red'] })
    assert.deepEqual(schemas.Pot?.properties, {
      colour,
      lid: { description: 'Of the lid.', anyOf: [colour, { type: 'null' }] },
      other: { type: 'string', enum: ['blue'] },
    })
    assert.equal(schemas.BigPot?.description, 'For many.')
    assert.deepEqual(schemas.BigPot?.allOf, [
      { $ref: '#/components/schemas/Pot' },
      { type: 'object', required: ['litres'], properties: { litres: { type: 'integer' } } },
    ])
    assert.deepEqual(Object(schemas.PotList?.properties).data, {
      type: 'array',
      items: { $ref: '#/components/schemas/Pot' },
      description: 'Records of this page.',
    })
    assert.deepEqual(Object(schemas.BigPotResponse?.properties).data, { $ref: '#/components/schemas/BigPot' })
  })

  it('writes an enum that may grow as its known values or any text', () => {
    const Colour = NamedEnum('Colour', ['red'], { description: 'Of the pot.' })
    const Pot = namedObject('Pot', {
      colour: openEnum(Colour),
      lid: Nullable(openEnum(Colour), 'Null without a lid.'),
      handle: Colour,
    })
    const { schemas } = documentOf([potRoute('pots.get', { data: Pot })]).components
    const colour = { $ref: '#/components/schemas/Colour' }
    assert.deepEqual(schemas.Colour, { type: 'string', enum: ['red'] })
    assert.deepEqual(schemas.Pot?.properties, {
      colour: { description: 'Of the pot.', anyOf: [colour, { type: 'string' }] },
      lid: { description: 'Null without a lid.', anyOf: [colour, { type: 'string' }, { type: 'null' }] },
      handle: { description: 'Of the pot.', ...colour },
    })
  })

  it('refuses one name for two schemas', () => {
    const routes = ['a', 'b'].map((field) =>
      potRoute(`${field}.create`, { data: namedObject('Pot', { [field]: Type.String() }) }),
    )
    assert.throws(() => openApiDocument(routes, {}), /two different schemas .* are named Pot/)
  })

  it('writes parameters and errors that operations share once', () => {
    const document = documentOf([...thingRoutes({}), potRoute('pots.create', { data: Type.Object({}) })])
    const { responses, parameters } = document.components
    assert.ok(responses.Unauthorized && responses.RateLimited)
    assert.deepEqual(Object.keys(parameters), ['IdempotencyKey', 'Uuid'])
    assert.deepEqual(Object(document.paths['/api/v1/pots.create']?.post?.responses['401']), {
      $ref: '#/components/responses/Unauthorized',
    })
  })

  it('is served without a key, with the public URL of the service', async () => {
    const { shell } = fakeShell()
    const response = await shell.inject({ url: '/openapi.json' })
    assert.equal(response.http, 200)
    assert.match(String(response.headers['content-type']), /^application\/json/)
    assert.deepEqual(JSON.parse(response.body), JSON.parse(JSON.stringify(shell.openApi())))
    assert.equal(JSON.parse(response.body).servers[0].url, 'https://pay.example')
  })
})
