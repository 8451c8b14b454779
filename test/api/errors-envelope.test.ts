import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { API_ERRORS } from '../../src/core/errors.ts'
import type { ApiResponse } from '../support/api.ts'
import { assertApiError, UUID_V7 } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { operationsOf } from '../support/openapi.ts'
import { sendBytes } from '../support/raw-http.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const anonymous = service.apiWith(undefined)
const INITIATE = '/api/v1/checkout/initiate-payment'
const PROBLEM = { accept: 'application/problem+json' }

describe('error responses', () => {
  it('returns an error with exactly the fields of the envelope', async () => {
    const answer = await api.post(INITIATE, initiateBody({ amount: '1', customer: { email: 'x' } }))
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.deepEqual(answer.body, {
      status: 'error',
      message: 'amount must be a number. Send it without quotes. (3 more in details)',
      data: null,
      error: {
        code: 'validation_failed',
        type: 'validation_error',
        retryable: false,
        requestId: answer.headers.get('x-request-id'),
        docUrl: `${service.publicUrl}/docs/errors#validation_failed`,
        details: [
          {
            field: 'amount',
            code: 'invalid_type',
            message: 'amount must be a number. Send it without quotes.',
          },
          { field: 'customer.firstname', code: 'required', message: 'customer.firstname is required.' },
          { field: 'customer.lastname', code: 'required', message: 'customer.lastname is required.' },
          {
            field: 'customer.email',
            code: 'invalid_format',
            message: 'customer.email must be an e-mail address of at most 254 characters.',
          },
        ],
      },
    })
  })

  it('returns no details with an error about no field', async () => {
    assert.deepEqual((await anonymous.get('/api/v1/customers')).body.error.details, [])
  })

  it('returns an RFC 9457 problem when the client accepts one', async () => {
    const answer = await api.get('/api/v1/customers?limit=0', PROBLEM)
    assert.equal(answer.http, 400)
    assert.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    const requestId = answer.headers.get('x-request-id')
    assert.deepEqual(answer.body, {
      type: `${service.publicUrl}/docs/errors#validation_failed`,
      title: API_ERRORS.validation_failed.message,
      status: 400,
      detail: 'limit must be at least 1.',
      instance: `urn:cowry:request:${requestId}`,
      code: 'validation_failed',
      errorType: 'validation_error',
      retryable: false,
      requestId,
      details: [{ field: 'limit', code: 'out_of_range', message: 'limit must be at least 1.' }],
    })
  })

  it('returns a problem on every path when accepted, and the envelope otherwise', async () => {
    const requests: [string, string, number][] = [
      ['GET', '/nowhere', 404],
      ['DELETE', '/api/v1/customers', 405],
      ['GET', '/admin/v1/merchants', 401],
    ]
    for (const [method, path, http] of requests) {
      const answer = await anonymous.send(method, path, { headers: PROBLEM })
      assert.equal(answer.http, http)
      assert.equal(answer.body.status, http)
    }
    for (const accept of ['*/*', 'application/json', 'text/html', 'application/problem+json;q=0', '']) {
      assert.equal((await anonymous.get('/nowhere', { accept })).body.status, 'error', accept)
    }
    const both = { accept: 'application/json, application/problem+json;q=0.9' }
    assert.equal((await anonymous.get('/nowhere', both)).body.status, 404)
  })

  it('returns a success unchanged, whatever the client accepts', async () => {
    const answer = await api.get('/api/v1/wallet/balance', PROBLEM)
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(answer.body.status, 'success')
  })

  it('links an error to a page that explains its code', async () => {
    const { docUrl } = (await anonymous.get('/nowhere')).body.error
    const [page = '', anchor = ''] = docUrl.split('#')
    const answer = await anonymous.get(new URL(page).pathname)
    assert.equal(answer.http, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
    assert.ok(answer.text.includes(`id="${anchor}"`))
    for (const [code, { http, type, message }] of Object.entries(API_ERRORS)) {
      const [, section = ''] = answer.text.split(`<h3 id="${code}"`)
      const text = section.split('<h3 ')[0] ?? ''
      assert.ok(text.includes(`<code>${code}</code>`), code)
      assert.ok(text.includes(`HTTP ${http}`) && text.includes(type), code)
      assert.ok(text.includes(message.replaceAll("'", '&#39;')), code)
    }
  })
})

describe('X-Request-Id', () => {
  const everywhere: [string, () => Promise<ApiResponse>][] = [
    ['200', () => api.get('/api/v1/wallet/balance', given)],
    ['201', () => api.post(INITIATE, initiateBody(), given)],
    ['400', () => api.get('/api/v1/customers/x', given)],
    ['401', () => anonymous.get('/api/v1/customers', given)],
    ['404', () => anonymous.get('/nowhere', given)],
    ['405', () => anonymous.send('PUT', INITIATE, { headers: given })],
    ['413', () => api.postText(INITIATE, 'x'.repeat(70_000), given)],
    ['415', () => api.postText(INITIATE, '{}', { ...given, 'content-type': 'text/plain' })],
    ['malformed JSON', () => api.postText(INITIATE, '{', given)],
    ['a page', () => anonymous.get('/', given)],
    ['a page that is not there', () => anonymous.get('/pay/nothing', given)],
    ['health', () => anonymous.get('/healthz', given)],
    ['readiness', () => anonymous.get('/readyz', given)],
    ['the document', () => anonymous.get('/openapi.json', given)],
    ['the reference', () => anonymous.get('/docs/api', given)],
    ['a gateway webhook', () => anonymous.postText('/hooks/sandbox', '{}', given)],
    ['an operator’s answer', () => service.admin.get('/admin/v1/merchants', given)],
    ['the sandbox', () => anonymous.get('/sandbox/pay/nothing', given)],
  ]
  let given: Record<string, string> = {}

  it('echoes a well-formed X-Request-Id on every response', async () => {
    given = { 'x-request-id': 'order-77_retry.2' }
    for (const [name, ask] of everywhere)
      assert.equal((await ask()).headers.get('x-request-id'), 'order-77_retry.2', name)
  })

  it('generates an X-Request-Id when it is absent or malformed, on every response', async () => {
    for (const id of [
      undefined,
      'short',
      'x'.repeat(129),
      'with space in it',
      'semi;colon;here',
      'quote"quote',
    ]) {
      given = id === undefined ? {} : { 'x-request-id': id }
      for (const [name, ask] of everywhere)
        assert.match((await ask()).headers.get('x-request-id') ?? '', UUID_V7, `${name}: ${id}`)
    }
    given = {}
  })

  it('accepts an X-Request-Id of 8 to 128 characters', async () => {
    for (const id of ['12345678', 'x'.repeat(128)]) {
      assert.equal((await anonymous.get('/healthz', { 'x-request-id': id })).headers.get('x-request-id'), id)
    }
  })

  it('includes the request id in the error', async () => {
    const answer = await anonymous.get('/nowhere', { 'x-request-id': 'order-77-retry-2' })
    assert.equal(answer.body.error.requestId, 'order-77-retry-2')
  })

  it('generates a request id for bytes that are not HTTP', async () => {
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET / HTTP/1.1\r\nbad header\r\n\r\n',
      'GET /\x00 HTTP/1.1\r\n\r\n',
    ]) {
      const answer = await sendBytes(service.url, bytes)
      assert.equal(answer.http, 400)
      assert.match(answer.headers['x-request-id'] ?? '', UUID_V7)
      assert.equal(JSON.parse(answer.text).error.requestId, answer.headers['x-request-id'])
    }
  })
})

describe('paths and methods', () => {
  it('answers route_not_found for an unknown path, with and without a key', async () => {
    for (const path of [
      '/nowhere',
      '/api/v1',
      '/api/v1/',
      '/api/v2/customers',
      '/API/V1/customers',
      '/admin',
      '/.env',
      '/__proto__',
      '/%00',
      '/etc/passwd',
    ])
      for (const client of [api, anonymous]) assertApiError(await client.get(path), 'route_not_found')
  })

  it('rejects a path with invalid percent-encoding', async () => {
    for (const path of ['/%', '/%zz', '/api/v1/customers/%ff', '/%c0%ae'])
      assertApiError(await api.get(path), 'validation_failed')
  })

  it('rejects another method of a known path, and lists the allowed ones', async () => {
    const others: [string, string, string][] = [
      ['GET', INITIATE, 'POST'],
      ['PUT', INITIATE, 'POST'],
      ['OPTIONS', INITIATE, 'POST'],
      ['POST', '/api/v1/checkout/verify-payment', 'GET, HEAD'],
      ['GET', '/api/v1/charges/recurring', 'POST'],
      ['PUT', '/api/v1/customers', 'GET, HEAD, POST'],
      ['PUT', '/api/v1/customers/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f', 'GET, HEAD, PATCH'],
      ['DELETE', '/api/v1/customers/x/payment-methods', 'GET, HEAD'],
      ['POST', '/api/v1/wallet/balance', 'GET, HEAD'],
      ['DELETE', '/openapi.json', 'GET, HEAD'],
      ['GET', '/hooks/sandbox', 'POST, PUT'],
      ['POST', '/healthz', 'GET, HEAD'],
    ]
    for (const [method, path, allow] of others) {
      const answer = await api.send(method, path)
      assertApiError(answer, 'method_not_allowed')
      assert.equal(answer.headers.get('allow'), allow, `${method} ${path}`)
    }
  })

  it('refuses every other method of every documented path, also beside a path with a parameter', async () => {
    const documents = [await api.get('/openapi.json'), await service.admin.get('/admin/v1/openapi.json')]
    const operations = documents.flatMap(({ body }) => operationsOf(body))
    const paths = new Set(operations.map(({ path }) => path))
    assert.ok(paths.has('/api/v1/charges/recurring') && paths.has('/admin/v1/merchants'))
    const notRefused: string[] = []
    for (const path of paths) {
      const known = operations.filter((one) => one.path === path).map(({ method }) => method)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !known.includes(one))) {
        const { http, headers } = await anonymous.send(method, path.replaceAll(/\{\w+\}/g, 'x'))
        const allowed = headers.get('allow')?.split(', ') ?? []
        if (http !== 405 || known.some((one) => !allowed.includes(one)))
          notRefused.push(`${method} ${path}: ${http}`)
      }
    }
    assert.deepEqual(notRefused, [])
  })
})
