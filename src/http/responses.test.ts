import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { Type } from 'typebox'
import { fakeShell, read, THING } from '../../test/support/fake-shell.ts'
import { API_ERRORS, ApiError, type ApiErrorCode } from '../core/errors.ts'
import { DbUnavailable } from '../kit/db/db.ts'
import { ok, type Route, route } from '../kit/http/route.ts'

const PATH = '/api/v1/things'
const UUID = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

function routeThatThrows(error: unknown): Route {
  return route({
    method: 'GET',
    path: '/api/v1/throws',
    tag: 'Misc',
    scope: 'wallet:read',
    operationId: 'throws.get',
    summary: 'Throw',
    response: { http: 200, data: Type.Object({}) },
    errors: [],
    handle: async () => {
      throw error
    },
  })
}

describe('a success response', () => {
  it('is the envelope, and keeps nulls and free-form data unchanged', async () => {
    const { get } = fakeShell()
    const response = await get(`${PATH}/${UUID}`)
    assert.equal(response.http, 200)
    assert.deepEqual(read(response), { status: 'success', message: 'Found.', data: THING })
    assert.equal(response.headers['x-extra'], 'yes')
    assert.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  })

  it('is 201 for a created record', async () => {
    assert.equal((await fakeShell().post(PATH, { name: 'a' })).http, 201)
  })

  it('a success response of a list has meta beside data', async () => {
    const response = read(await fakeShell().get(PATH))
    assert.deepEqual(response.data, [THING])
    assert.equal(response.meta.nextCursor, null)
    assert.equal(response.meta.total, 1)
  })

  it('omits fields that the response schema does not name', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, { name: 'a', metadata: { secret: 'x', note: 'kept' } })
    assert.equal(read(response).data.note, 'kept')
    assert.equal(Object.hasOwn(read(response).data, 'secret'), false)
  })

  it('writes an undocumented null as null, never as an empty string or 0', async () => {
    const data = Type.Object({
      text: Type.String(),
      count: Type.Integer(),
      flag: Type.Boolean(),
      list: Type.Array(Type.String()),
    })
    const nulls = { text: null, count: null, flag: null, list: null }
    const { get } = fakeShell({
      routes: [
        { ...routeThatThrows(null), response: { http: 200, data }, handle: async () => ok('Null.', nulls) },
      ],
    })
    assert.deepEqual(read(await get('/api/v1/throws')).data, nulls)
  })

  it('keeps the text of frozen data, but not of others and not a long one', async () => {
    let reads = 0
    const newRecord = (padding = '') => ({
      get text() {
        reads += 1
        return `read ${reads}${padding}`
      },
    })
    const [frozen, other] = [Object.freeze(newRecord()), newRecord()]
    const long = Object.freeze(newRecord(' '.repeat(8_000)))
    const answers = [
      ok('One.', frozen),
      ok('One.', frozen),
      ok('Two.', frozen),
      ok('One.', other),
      ok('One.', other),
      ok('One.', long),
      ok('One.', long),
    ]
    const left = answers.values()
    const response = { http: 200, data: Type.Object({ text: Type.String() }) } as const
    const handle = async () => left.next().value ?? ok('None.', other)
    const { get } = fakeShell({ routes: [{ ...routeThatThrows(null), response, handle }] })
    const texts: string[] = []
    for (const _ of answers) {
      const { message, data } = read(await get('/api/v1/throws'))
      texts.push(`${message} ${String(data.text).trim()}`)
    }
    assert.deepEqual(texts, [
      ...['One. read 1', 'One. read 1', 'Two. read 2'],
      ...['One. read 3', 'One. read 4', 'One. read 5', 'One. read 6'],
    ])
  })

  it('has no body for HEAD', async () => {
    const { shell } = fakeShell()
    const response = await shell.inject({ method: 'HEAD', url: PATH, headers: { 'x-api-key': 'right' } })
    assert.equal(response.http, 200)
    assert.equal(response.body, '')
  })
})

describe('an error response', () => {
  it('is the error envelope of the contract', async () => {
    const details = [{ field: 'a', code: 'b', message: 'c' }]
    const apiError = new ApiError('duplicate_reference', { message: 'Used by X.', details })
    const response = await fakeShell({ routes: [routeThatThrows(apiError)] }).get('/api/v1/throws')
    assert.equal(response.http, 409)
    assert.deepEqual(read(response), {
      status: 'error',
      message: 'Used by X.',
      data: null,
      error: {
        code: 'duplicate_reference',
        type: 'conflict_error',
        retryable: false,
        requestId: response.headers['x-request-id'],
        docUrl: 'https://pay.example/docs/errors#duplicate_reference',
        details,
      },
    })
  })

  it('is an RFC 9457 problem if the client accepts that type', async () => {
    const { shell } = fakeShell()
    const accept = 'application/problem+json, application/json;q=0.9'
    const response = await shell.inject({ url: PATH, headers: { accept, 'x-request-id': 'request-17' } })
    assert.equal(response.http, 401)
    assert.equal(response.headers['content-type'], 'application/problem+json; charset=utf-8')
    assert.deepEqual(JSON.parse(response.body), {
      type: 'https://pay.example/docs/errors#missing_api_key',
      title: API_ERRORS.missing_api_key.message,
      status: 401,
      detail: API_ERRORS.missing_api_key.message,
      instance: 'urn:cowry:request:request-17',
      code: 'missing_api_key',
      errorType: 'authentication_error',
      retryable: false,
      requestId: 'request-17',
      details: [],
    })
    const plain = await shell.inject({ url: PATH, headers: { accept: '*/*' } })
    assert.equal(plain.headers['content-type'], 'application/json; charset=utf-8')
  })

  it('has the HTTP status of its row in API_ERRORS, for every code', async () => {
    // A boundary: Object.keys of a constant object returns exactly the keys of its type.
    for (const code of Object.keys(API_ERRORS) as ApiErrorCode[]) {
      const { get } = fakeShell({ routes: [routeThatThrows(new ApiError(code))] })
      const response = await get('/api/v1/throws')
      assert.equal(response.http, API_ERRORS[code].http, code)
      assert.equal(read(response).error.type, API_ERRORS[code].type)
    }
  })

  it('carries Retry-After if the ApiError has a delay', async () => {
    const apiError = new ApiError('temporarily_unavailable', { retryAfterSeconds: 7 })
    const response = await fakeShell({ routes: [routeThatThrows(apiError)] }).get('/api/v1/throws')
    assert.equal(response.headers['retry-after'], '7')
  })

  it('is 503 with Retry-After: 1 if the database is unreachable', async () => {
    const { get, lines } = fakeShell({
      routes: [routeThatThrows(new DbUnavailable(new Error('secret host')))],
    })
    const response = await get('/api/v1/throws')
    assert.equal(response.http, 503)
    assert.equal(read(response).error.code, 'temporarily_unavailable')
    assert.equal(response.headers['retry-after'], '1')
    assert.doesNotMatch(response.body, /secret host/)
    assert.equal(lines.filter((line) => line.level === 'warn').length, 1)
  })

  it('is 503 with Retry-After: 1 while a merchant is moved by a process that has died', async () => {
    const refused = new pg.DatabaseError('the merchant works in another cell', 0, 'error')
    const error = Object.assign(refused, { code: 'CW001', detail: UUID })
    const response = await fakeShell({ routes: [routeThatThrows(error)] }).get('/api/v1/throws')
    assert.equal(response.http, 503)
    assert.equal(response.headers['retry-after'], '1')
  })

  it('is 500 for internal errors, which are logged once with their stack and never shown to the client', async () => {
    const mistakes = [new Error('secret detail'), new TypeError('secret detail'), 'secret detail', null]
    for (const mistake of [...mistakes, Object.assign(new Error('secret detail'), { code: 'ECONNRESET' })]) {
      const { get, lines } = fakeShell({ routes: [routeThatThrows(mistake)] })
      const response = await get('/api/v1/throws', { 'x-request-id': 'request-17' })
      assert.equal(response.http, 500)
      assert.equal(read(response).error.code, 'internal_error')
      assert.doesNotMatch(response.body, /secret/)
      const errors = lines.filter((line) => line.level === 'error')
      assert.equal(errors.length, 1)
      assert.equal(errors[0]?.requestId, 'request-17')
      if (mistake instanceof Error) assert.match(String(errors[0]?.stack), /responses\.test\.ts/)
    }
  })

  it('is 500 if a handler omits a field that its response schema requires', async () => {
    const response = { http: 200, data: Type.Object({ needed: Type.String() }) } as const
    const { get, lines } = fakeShell({
      routes: [{ ...routeThatThrows(null), response, handle: async () => ok('Deleted.', {}) }],
    })
    assert.equal((await get('/api/v1/throws')).http, 500)
    assert.equal(lines.filter((line) => line.level === 'error').length, 1)
  })
})

describe('a request path', () => {
  it('a request path that is unknown is 404 route_not_found, whatever the body', async () => {
    const { shell, post } = fakeShell()
    for (const url of [
      '/nope',
      '/api/v1',
      '/api/v1/thing',
      `${PATH}/${UUID}/more`,
      '/API/v1/things',
      '//',
      '/..',
      `${PATH}/../x`,
    ])
      assert.equal((await shell.inject({ url })).http, 404, url)
    const response = await post('/nope', 'x'.repeat(100_000), { 'content-type': 'text/plain' })
    assert.equal(read(response).error.code, 'route_not_found')
  })

  it('a request path with a trailing slash is a different path', async () => {
    const { get } = fakeShell()
    const response = await get(`${PATH}/`)
    assert.ok(response.http === 404 || response.http === 400)
  })

  it('F-69: a request path with bad percent-encoding is 400', async () => {
    const { shell } = fakeShell()
    for (const url of ['/%', '/%zz', `${PATH}/%ff`, `${PATH}/%c0%af`]) {
      const response = await shell.inject({ url })
      assert.equal(response.http, 400, url)
      assert.equal(read(response).error.code, 'validation_failed')
    }
    assert.equal((await shell.inject({ url: '/%00' })).http, 404)
  })

  it('a request path that is known is 405 for another method, and Allow lists its methods', async () => {
    const { shell } = fakeShell()
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
      const response = await shell.inject({ method, url: PATH })
      assert.equal(response.http, 405, method)
      assert.equal(read(response).error.code, 'method_not_allowed')
      assert.deepEqual(String(response.headers.allow).split(', ').sort(), ['GET', 'HEAD', 'POST'])
    }
    assert.equal((await shell.inject({ method: 'POST', url: '/healthz' })).http, 405)
    assert.equal((await shell.inject({ method: 'HEAD', url: `${PATH}/${UUID}/touch` })).headers.allow, 'POST')
  })
})

describe('every response of the HTTP shell', () => {
  it('carries X-Request-Id, which is the client’s own if it is well formed', async () => {
    const { shell } = fakeShell()
    const idOf = async (url: string, given?: string) => {
      const headers: Record<string, string> = given === undefined ? {} : { 'x-request-id': given }
      return String((await shell.inject({ url, headers })).headers['x-request-id'])
    }
    for (const url of [PATH, '/nope', '/%zz', '/healthz', '/docs/api', '/openapi.json']) {
      assert.equal(await idOf(url, 'order.17_retry-2'), 'order.17_retry-2', url)
      assert.match(await idOf(url), /^[0-9a-f-]{36}$/, url)
      for (const other of ['short', 'has space in it', 'x'.repeat(129), 'semi;colon', 'ünicode-id'])
        assert.match(await idOf(url, other), /^[0-9a-f-]{36}$/, other)
    }
  })

  it('F-81: carries the browser security headers', async () => {
    const { get } = fakeShell()
    for (const url of [PATH, '/nope', `${PATH}/x`]) {
      const { headers } = await get(url)
      assert.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'")
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['cache-control'], 'no-store')
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      for (const absent of [
        'server',
        'x-powered-by',
        'access-control-allow-origin',
        'strict-transport-security',
      ])
        assert.equal(headers[absent], undefined)
    }
    const production = await fakeShell({ environment: 'production' }).get(PATH)
    assert.match(String(production.headers['strict-transport-security']), /max-age=31536000/)
  })

  it('writes one log line without URL, query, header or body', async () => {
    const { post, get, lines } = fakeShell()
    await post(PATH, { name: 'body-canary' }, { 'x-canary': 'header-canary' })
    await post(`${PATH}?canary=query-canary`, { name: 'a', canary: 'field-canary' })
    await get(`${PATH}/path-canary`)
    await get('/healthz')
    const written = lines.filter((line) => line.level === 'info')
    assert.deepEqual(
      written.map(({ requestId, ...line }) => {
        assert.ok(requestId)
        return line
      }),
      [
        line({ method: 'POST', route: '/api/v1/things', http: 201 }),
        line({ method: 'POST', route: '/api/v1/things', http: 400, errorCode: 'unknown_field' }),
        line({ method: 'GET', route: '/api/v1/things/:uuid', http: 400, errorCode: 'invalid_uuid' }),
      ],
    )
    assert.doesNotMatch(JSON.stringify(lines), /canary/)
  })
})

function line(fields: object): object {
  const address = '127.0.0.1'
  const identity = {
    address,
    merchantId: 'merchant-1',
    keyId: 'key-1',
    operatorId: undefined,
    errorCode: undefined,
  }
  return { level: 'info', key: 'http.request', durationMs: 0, ...identity, ...fields }
}

describe('the health checks', () => {
  it('return ok while the process runs, and ready while it can serve', async () => {
    const { shell } = fakeShell()
    assert.deepEqual(JSON.parse((await shell.inject({ url: '/healthz' })).body), { status: 'ok' })
    assert.deepEqual(JSON.parse((await shell.inject({ url: '/readyz' })).body), {
      status: 'ready',
      reasons: [],
    })
  })

  it('return the reasons if the service is not ready', async () => {
    const { shell } = fakeShell({ ready: async () => ({ ready: false, reasons: ['The database is away.'] }) })
    const response = await shell.inject({ url: '/readyz' })
    assert.equal(response.http, 503)
    assert.deepEqual(JSON.parse(response.body), { status: 'unavailable', reasons: ['The database is away.'] })
    assert.equal((await shell.inject({ url: '/healthz' })).http, 200)
  })
})
