import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { extractOperations } from './extract.ts'
import { decodeForm } from './forms.ts'
import { createDescription, readExtract } from './requests.ts'
import { SOURCES } from './sources.ts'

const DOCUMENT = {
  components: {
    schemas: {
      Card: { type: 'object', properties: { last4: { type: 'string', description: 'Four digits' } } },
      Payment: {
        type: 'object',
        required: ['id'],
        properties: {
          id: { type: 'string', example: 'p_1', maxLength: 50 },
          status: { type: 'string', nullable: true, enum: ['paid', 'open'] },
          card: { anyOf: [{ type: 'string' }, { $ref: '#/components/schemas/Card' }], nullable: true },
          shipping: { $ref: '#/components/schemas/Card' },
          parent: { $ref: '#/components/schemas/Payment' },
        },
      },
    },
  },
  paths: {
    '/payments': {
      post: {
        requestBody: {
          content: {
            'application/json': {
              schema: {
                allOf: [
                  { type: 'object', required: ['amount'], properties: { amount: { type: 'integer' } } },
                  {
                    type: 'object',
                    properties: {
                      currency: { type: 'string', enum: ['NGN'] },
                      card: { $ref: '#/components/schemas/Card' },
                      split: { $ref: '#/components/schemas/Card' },
                      metadata: { type: 'object', additionalProperties: { type: 'string' } },
                    },
                  },
                ],
              },
            },
          },
        },
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Payment' } } } },
        },
      },
    },
    '/payments/{id}': {
      get: {
        parameters: [
          { in: 'path', name: 'id', required: true, schema: { type: 'integer' } },
          { in: 'query', name: 'limit', schema: { type: 'integer' } },
          { in: 'header', name: 'x-trace', schema: { type: 'string' } },
        ],
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Payment' } } } },
          500: { description: 'An error without a body' },
        },
      },
    },
  },
}

const CALLED = [
  { method: 'POST', path: '/payments', sends: ['card'], reads: ['card'] },
  { method: 'GET', path: '/payments/{id}', reads: ['card'] },
] as const
const XOF = { field: 'currency', adds: 'XOF', why: 'it is collected too' }

describe('an extract of a description', () => {
  const extract = { source: {}, ...extractOperations(DOCUMENT, CALLED, [XOF]) }
  const description = createDescription(extract)
  const post = (body: unknown) =>
    description.issuesOf({
      method: 'POST',
      path: '/payments',
      query: new URLSearchParams(),
      text: JSON.stringify(body),
    })

  it('has the schemas of responses once, with null as a type, and without what the connector does not read', () => {
    assert.deepEqual(extract.schemas, {
      'POST /payments 200': {
        type: 'object',
        properties: {
          id: { type: 'string', maxLength: 50 },
          status: { type: ['string', 'null'], enum: ['paid', 'open', null] },
          card: {
            anyOf: [
              { type: 'string' },
              { type: 'object', properties: { last4: { type: 'string' } } },
              { type: 'null' },
            ],
          },
          shipping: { 'x-left-out': true },
          parent: { 'x-left-out': true },
        },
        required: ['id'],
      },
    })
    assert.deepEqual(
      extract.operations.map(({ responses }) => responses),
      [{ 200: 'POST /payments 200' }, { 200: 'POST /payments 200' }],
    )
  })

  it('accepts what the description and its corrections allow', () => {
    assert.deepEqual(
      post({ amount: 1, currency: 'XOF', card: { last4: '4242' }, metadata: { any: 'name' } }),
      [],
    )
  })

  const INVALID: [title: string, body: object, issue: RegExp][] = [
    ['an unknown field', { amount: 1, amonut: 1 }, /additional properties.*amonut/],
    ['an unknown field of a nested object', { amount: 1, card: { last5: '1' } }, /body\/card .*last5/],
    ['a missing field', {}, /required property 'amount'/],
    ['a wrong type', { amount: '1' }, /body\/amount must be integer/],
    ['an unknown value', { amount: 1, currency: 'EUR' }, /body\/currency must be equal to one of/],
    ['an object that is not in the extract', { amount: 1, split: {} }, /body\/split is left out/],
  ]
  for (const [title, body, issue] of INVALID)
    it(`rejects ${title}`, () => assert.match(post(body).join('\n'), issue))

  it('reads the values of a path and a query by their types', () => {
    const get = (path: string, query: string) =>
      description.issuesOf({ method: 'GET', path, query: new URLSearchParams(query), text: '' })
    assert.deepEqual(get('/payments/7', 'limit=20'), [])
    assert.match(get('/payments/p_7', '').join(), /path\/id must be integer/)
    assert.match(get('/payments/7', 'limit=all').join(), /query\/limit must be integer/)
    assert.match(get('/payments/7', 'offset=1').join(), /offset/)
    assert.match(get('/refunds', '').join(), /not among the operations/)
  })

  it('names what the description lacks', () => {
    const extractOf = (path: string) => extractOperations(DOCUMENT, [{ method: 'GET', path }], [])
    assert.throws(() => extractOf('/refunds'), /no GET \/refunds/)
  })
})

describe('a form with brackets', () => {
  it('is read as objects and arrays', () => {
    const form = new URLSearchParams('a=1&b[c]=2&items[0][d]=3&items[1][d]=4&expand[]=x&expand[]=y.z')
    assert.deepEqual(decodeForm(form), {
      a: '1',
      b: { c: '2' },
      items: [{ d: '3' }, { d: '4' }],
      expand: ['x', 'y.z'],
    })
  })

  it('has each name once', () => {
    assert.throws(() => decodeForm(new URLSearchParams('a=1&a=2')), /twice/)
    assert.throws(() => decodeForm(new URLSearchParams('a=1&a[b]=2')), /text and an object/)
  })
})

describe('the extracts in this folder', () => {
  for (const [name, { operations, corrections = [], ...origin }] of Object.entries(SOURCES))
    it(`${name}.json has the source and the operations of sources.ts`, () => {
      const { source, operations: written } = readExtract(name)
      assert.partialDeepStrictEqual(source, { ...origin, corrections })
      const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
      assert.deepEqual(written.map(nameOf), operations.map(nameOf))
    })
})
