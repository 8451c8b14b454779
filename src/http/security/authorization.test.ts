import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type } from 'typebox'
import { CALLER, fakeShell, MERCHANT, read } from '../../../test/support/fake-shell.ts'
import { ApiError } from '../../core/errors.ts'
import { type OperatorRoute, ok } from '../../kit/http/route.ts'

const PATH = '/api/v1/things'

describe('the API key of a merchant', () => {
  it('is checked first, before the body is read', async () => {
    const { shell } = fakeShell()
    for (const payload of ['{"name":', 'x'.repeat(70_000)]) {
      const response = await shell.inject({
        method: 'POST',
        url: PATH,
        payload,
        headers: { 'content-type': 'text/plain' },
      })
      assert.equal(response.http, 401)
      assert.equal(read(response).error.code, 'missing_api_key')
      assert.equal(read(response).error.type, 'authentication_error')
      assert.equal(response.headers['www-authenticate'], 'ApiKey header="x-api-key"')
    }
  })

  it('is not read from the query string', async () => {
    const { shell } = fakeShell()
    for (const name of ['x-api-key', 'api_key', 'apiKey'])
      assert.equal((await shell.inject({ url: `${PATH}?${name}=right` })).http, 400)
  })

  it('selects the merchant, and is checked together with the client address', async () => {
    const asked: unknown[] = []
    const authenticate = async (input: object) => {
      asked.push(input)
      return CALLER
    }
    const { get, seen } = fakeShell({ authenticate })
    await get(PATH)
    assert.deepEqual(seen.input?.merchant, MERCHANT)
    assert.deepEqual(asked, [{ apiKey: 'right', ip: '127.0.0.1' }])
  })

  it('is checked with the address from the nearest proxy only if the proxy is trusted', async () => {
    const addresses: string[] = []
    const authenticate = async ({ ip }: { ip: string }) => {
      addresses.push(ip)
      return CALLER
    }
    const forwarded = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9' }
    await fakeShell({ authenticate }).get(PATH, forwarded)
    await fakeShell({ authenticate, trustProxy: true }).get(PATH, forwarded)
    assert.deepEqual(addresses, ['127.0.0.1', '203.0.113.9'])
  })

  it('F-75: the API key of a merchant without the required scope is refused, and the error names the scope', async () => {
    const withScopes = (...scopes: ('customers:read' | 'wallet:read' | '*')[]) =>
      fakeShell({ authenticate: async () => ({ ...CALLER, scopes }) }).get(PATH)
    const refused = await withScopes('customers:read')
    assert.equal(refused.http, 403)
    assert.equal(read(refused).error.code, 'insufficient_scope')
    assert.match(read(refused).message, /wallet:read/)
    assert.equal((await withScopes('wallet:read')).http, 200)
    assert.equal((await withScopes('*')).http, 200)
    assert.equal((await withScopes()).http, 403)
  })
})

describe('the rate limit of a key', () => {
  it('is in the headers of every response, and gives 429 with Retry-After when it is exhausted', async () => {
    const { get, advance } = fakeShell({ rateLimit: { perSecond: 2, burst: 3 } })
    const first = await get(PATH)
    assert.equal(first.headers['ratelimit-policy'], '"default";q=3;w=2')
    assert.equal(first.headers.ratelimit, '"default";r=2;t=1')
    assert.equal((await get(`${PATH}/not-a-uuid`)).headers.ratelimit, '"default";r=1;t=1')
    await get(PATH)
    const refused = await get(PATH)
    assert.equal(refused.http, 429)
    assert.equal(read(refused).error.code, 'rate_limited')
    assert.equal(read(refused).error.retryable, true)
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal(refused.headers.ratelimit, '"default";r=0;t=2')
    advance(500)
    assert.equal((await get(PATH)).http, 200)
    assert.equal((await get(PATH)).http, 429)
  })

  it('is counted per key, with the key’s own limit if it has one', async () => {
    const { get } = fakeShell({
      rateLimit: { perSecond: 1, burst: 1 },
      authenticate: async ({ apiKey = '' }) => ({
        ...CALLER,
        keyId: apiKey,
        rateLimit: apiKey === 'special' ? { perSecond: 1, burst: 5 } : null,
      }),
    })
    const statuses = async (key: string) => {
      const responses = [await get(PATH, { 'x-api-key': key }), await get(PATH, { 'x-api-key': key })]
      return responses.map((response) => response.http)
    }
    assert.deepEqual(await statuses('a'), [200, 429])
    assert.deepEqual(await statuses('b'), [200, 429])
    assert.deepEqual(await statuses('special'), [200, 200])
  })

  it('is off if the service has no limit', async () => {
    const { get } = fakeShell({ rateLimit: null })
    const responses = await Promise.all(Array.from({ length: 600 }, () => get(PATH)))
    assert.ok(responses.every((response) => response.http === 200))
    assert.equal(responses[0]?.headers.ratelimit, undefined)
  })
})

describe('wrong API keys', () => {
  it('F-77: are 429 after twenty a minute from one address, and the right key still works there', async () => {
    const { get, advance } = fakeShell()
    const wrong = () => get(PATH, { 'x-api-key': 'wrong' })
    for (let count = 0; count < 20; count += 1) assert.equal((await wrong()).http, 401)
    const refused = await wrong()
    assert.equal(refused.http, 429)
    assert.equal(refused.headers['retry-after'], '3')
    assert.equal((await get(PATH)).http, 200)
    advance(3_000)
    assert.equal((await wrong()).http, 401)
    assert.equal((await wrong()).http, 429)
  })

  it('are counted per network', async () => {
    const { shell } = fakeShell()
    const wrong = async (remoteAddress: string) =>
      (await shell.inject({ url: PATH, headers: { 'x-api-key': 'wrong' }, remoteAddress })).http
    for (let count = 0; count < 20; count += 1) await wrong(`2001:db8::${count}`)
    assert.equal(await wrong('2001:db8::ffff'), 429)
    assert.equal(await wrong('2001:db8:0:1::1'), 401)
    assert.equal(await wrong('192.0.2.1'), 401)
  })

  it('do not count if no secret was guessed', async () => {
    const typo = new ApiError('invalid_api_key', { message: 'The check digits of the API key are wrong.' })
    const { get, shell } = fakeShell({
      authenticate: async ({ apiKey }) => {
        if (apiKey === undefined) throw new ApiError('missing_api_key')
        throw apiKey === 'typo' ? typo : new ApiError('invalid_api_key')
      },
      isWrongSecret: (error) => error.code === 'invalid_api_key' && error !== typo,
    })
    for (let count = 0; count < 30; count += 1) {
      assert.equal((await shell.inject({ url: PATH })).http, 401)
      assert.equal((await get(PATH, { 'x-api-key': 'typo' })).http, 401)
    }
    for (let count = 0; count < 20; count += 1) await get(PATH, { 'x-api-key': 'wrong' })
    assert.equal((await get(PATH, { 'x-api-key': 'wrong' })).http, 429)
  })
})

describe('an API key in a URL', () => {
  const KEY = `cowry_test_${'a'.repeat(12)}_${'b'.repeat(49)}`

  it('is refused and logged without its secret, also beside a key in the header', async () => {
    const { shell, get, lines } = fakeShell()
    const responses = [
      await shell.inject({ url: `/api/v1/things?api_key=${KEY}` }),
      await shell.inject({ url: `/api/v1/things/${KEY}` }),
      await get(`/api/v1/things?search=${KEY}`),
    ]
    for (const response of responses) {
      assert.equal(response.http, 400)
      assert.equal(read(response).error.code, 'api_key_in_url')
    }
    const written = lines.filter(({ key }) => key === 'api_key.in_url')
    assert.deepEqual(
      written.map(({ keyId }) => keyId),
      Array.from({ length: 3 }, () => 'a'.repeat(12)),
    )
    assert.ok(!JSON.stringify(lines).includes('bbbb'))
  })

  it('is recognised by the usual names of the parameter, if the header is absent', async () => {
    const { shell, get } = fakeShell()
    for (const name of ['api_key', 'apikey', 'API-KEY', 'x-api-key', 'key']) {
      const response = await shell.inject({ url: `/api/v1/things?page=1&${name}=x` })
      assert.equal(read(response).error.code, 'api_key_in_url', name)
    }
    assert.equal(read(await get('/api/v1/things?api_key=x')).error.code, 'unknown_field')
    assert.equal(read(await shell.inject({ url: '/api/v1/things?page=1' })).error.code, 'missing_api_key')
  })
})

describe('the operator token', () => {
  const operatorRoutes: OperatorRoute[] = [
    {
      method: 'POST',
      path: '/admin/v1/merchants/{uuid}/notes',
      operationId: 'notes.create',
      summary: 'Note something',
      body: Type.Object({ text: Type.String() }),
      response: { http: 200, data: Type.Object({ uuid: Type.String(), text: Type.String() }) },
      errors: [],
      handle: async ({ params, body }) => ok('Noted.', { uuid: params.uuid, text: body.text }),
    },
  ]
  const url = '/admin/v1/merchants/m1/notes'

  it('F-75: grants access to operators, and a merchant key does not', async () => {
    const { post } = fakeShell({ operatorRoutes })
    const body = { text: 'hello' }
    assert.equal(read(await post(url, body)).error.code, 'invalid_admin_token')
    assert.equal((await post(url, body, { authorization: 'Bearer right' })).http, 401)
    assert.equal((await post(url, body, { authorization: 'Basic admin-token' })).http, 401)
    const response = await post(url, body, { authorization: 'Bearer admin-token' })
    assert.deepEqual(read(response), {
      status: 'success',
      message: 'Noted.',
      data: { uuid: 'm1', text: 'hello' },
    })
    assert.equal((await post(url, body, { 'x-admin-token': 'admin-token' })).http, 200)
  })

  it('leads to the same validation and envelopes', async () => {
    const { post } = fakeShell({ operatorRoutes })
    const response = await post(url, {}, { 'x-admin-token': 'admin-token' })
    assert.equal(response.http, 400)
    assert.deepEqual(read(response).error.details, [
      { field: 'text', code: 'required', message: 'text is required.' },
    ])
  })

  it('F-77: may be guessed twenty times a minute', async () => {
    const { post } = fakeShell({ operatorRoutes })
    for (let count = 0; count < 20; count += 1) await post(url, {}, { 'x-admin-token': 'guess' })
    assert.equal((await post(url, {}, { 'x-admin-token': 'guess' })).http, 429)
  })
})
