import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { after, describe, it } from 'node:test'
import { fakeShell, read } from '../../../test/support/fake-shell.ts'
import { ApiError } from '../../core/errors.ts'
import type { ErrorPage, PageRoute } from '../../kit/http/route.ts'
import type { HttpShellOptions, InjectedRequest } from '../options.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const PAGE_ROUTES: PageRoute[] = [
  { method: 'GET', path: '/', handle: async () => ({ http: 200, html: 'home' }) },
  { method: 'GET', path: '/assets/checkout.js', handle: async () => ({ http: 200, html: '' }) },
  { method: 'GET', path: '/pay/{accessCode}', handle: async () => ({ http: 200, html: 'open' }) },
  {
    method: 'POST',
    path: '/pay/{accessCode}/attempts',
    handle: async () => {
      throw new ApiError('rate_limited', { retryAfterSeconds: 7 })
    },
  },
]

/** A shell whose error page shows its input and records it. */
function shellWithPage(overrides: Partial<HttpShellOptions> = {}) {
  const pageInputs: Parameters<ErrorPage>[0][] = []
  const errorPage: ErrorPage = (input) => {
    pageInputs.push(input)
    return { http: 200, html: `<p>${input.http} ${input.apiError.code}</p>` }
  }
  return { ...fakeShell({ pageRoutes: PAGE_ROUTES, errorPage, ...overrides }), pageInputs }
}

const CASES: [string, InjectedRequest, string][] = [
  ['an API error', { method: 'POST', url: '/pay/abc/attempts', headers: FORM }, '429 rate_limited'],
  ['an unknown step', { url: '/pay/abc/nowhere' }, '404 route_not_found'],
  ['no code at all', { url: '/pay' }, '404 route_not_found'],
  ['an unknown link', { url: '/l/summer' }, '404 route_not_found'],
  ['an unknown script', { url: '/assets/old.js?v=1' }, '404 route_not_found'],
  ['another method', { method: 'DELETE', url: '/pay/abc' }, '405 method_not_allowed'],
  ['another method on the home page', { method: 'POST', url: '/' }, '405 method_not_allowed'],
  ['a code that is too long', { url: `/pay/${'a'.repeat(3_000)}` }, '400 validation_failed'],
  ['a badly encoded code', { url: '/pay/%zz' }, '400 validation_failed'],
  ['a badly encoded query', { url: '/pay/abc?x=%zz' }, '400 validation_failed'],
  [
    'JSON instead of a form',
    {
      method: 'POST',
      url: '/pay/abc/attempts',
      payload: '{}',
      headers: { 'content-type': 'application/json' },
    },
    '415 unsupported_media_type',
  ],
  [
    'a form that is too large',
    { method: 'POST', url: '/pay/abc/attempts', payload: `a=${'x'.repeat(17_000)}`, headers: FORM },
    '413 payload_too_large',
  ],
]

describe('an error at a page address', () => {
  for (const [what, request, expected] of CASES) {
    it(`shows the error page of the service, with the right status: ${what}`, async () => {
      const { shell } = shellWithPage()
      const response = await shell.inject(request)
      assert.equal(response.body, `<p>${expected}</p>`)
      assert.equal(response.http, Number(expected.slice(0, 3)))
      assert.equal(response.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(response.headers['cache-control'], 'no-store')
      assert.match(String(response.headers['content-security-policy']), /style-src 'self' 'nonce-/)
      assert.ok(response.headers['x-request-id'])
    })

    it(`shows the fallback page if the service has none: ${what}`, async () => {
      const response = await fakeShell({ pageRoutes: PAGE_ROUTES }).shell.inject(request)
      assert.equal(response.http, Number(expected.slice(0, 3)))
      assert.match(response.body, /^<!doctype html>/)
      assert.ok(response.body.includes(String(response.headers['x-request-id'])))
    })
  }

  it('carries Retry-After and Allow headers on its page', async () => {
    const { shell } = shellWithPage()
    const limited = await shell.inject({ method: 'POST', url: '/pay/abc/attempts', headers: FORM })
    assert.equal(limited.headers['retry-after'], '7')
    const other = await shell.inject({ method: 'PUT', url: '/pay/abc' })
    assert.equal(other.headers.allow, 'GET, HEAD')
  })

  it('asks for a form instead of JSON if the content type is wrong', async () => {
    const { shell, pageInputs } = shellWithPage()
    const headers = { 'content-type': 'text/plain' }
    await shell.inject({ method: 'POST', url: '/pay/abc/attempts', payload: 'x', headers })
    assert.match(pageInputs[0]?.apiError.message ?? '', /x-www-form-urlencoded/)
  })

  it('passes the request facts to the error page, and omits what cannot be parsed', async () => {
    const { get, pageInputs } = shellWithPage()
    const response = await get('/pay/%zz?lang=fr&bad=%zz&nul=%00&__proto__=x', {
      cookie: 'lang=sw; broken',
      'accept-language': 'am',
    })
    const [input] = pageInputs
    assert.equal(response.http, 400)
    assert.equal(input?.path, '/pay/%zz')
    assert.equal(JSON.stringify(input?.query), '{"lang":"fr","__proto__":"x"}')
    assert.equal(JSON.stringify(input?.cookies), '{"lang":"sw"}')
    assert.equal(input?.headers['accept-language'], 'am')
    assert.equal(input?.requestId, response.headers['x-request-id'])
    assert.ok(String(response.headers['content-security-policy']).includes(`'nonce-${input?.styleNonce}'`))
  })

  it('shows the fallback page if the error page throws, and logs that error', async () => {
    const broken: ErrorPage[] = [
      () => {
        throw new Error('no words for it')
      },
      () => ({ http: 404, html: 'x', formActions: ['not an address'] }),
      () => ({ http: 404, html: 'x', cookies: [{ name: 'a b', value: '', path: '/' }] }),
    ]
    for (const errorPage of broken) {
      const { get, lines } = shellWithPage({ errorPage })
      const response = await get('/pay/abc/nowhere')
      assert.equal(response.http, 404)
      assert.match(response.body, /There is nothing here/)
      assert.equal(response.headers['set-cookie'], undefined)
      assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
    }
  })

  it('stays an envelope at API addresses', async () => {
    const { shell } = shellWithPage()
    for (const url of ['/api/v1/nowhere', '/api/v1/things/%zz', '/payments', '/nowhere', '/layout'])
      assert.equal(read(await shell.inject({ url })).status, 'error', url)
    assert.equal((await shell.inject({ method: 'PUT', url: '/api/v1/things' })).http, 405)
  })
})

describe('a protocol error at a page address', () => {
  const { shell, pageInputs } = shellWithPage()
  const listening = shell.listen('127.0.0.1', 0)
  after(() => shell.stop())

  async function sendBytes(bytes: string): Promise<string> {
    const socket = connect((await listening).port, '127.0.0.1')
    socket.write(bytes)
    return Buffer.concat(await socket.toArray()).toString()
  }

  const requestFor = (path: string, method = 'GET') =>
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`

  it('has the same headers for HEAD, and no body', async () => {
    for (const path of ['/pay/abc/nowhere', '/pay/abc/attempts', '/pay/%zz']) {
      const headers = (response: string) =>
        (response.split('\r\n\r\n')[0] ?? '').replace(/(?<=nonce-|x-request-id: |Date: )[^'\r]+/g, '')
      const head = await sendBytes(requestFor(path, 'HEAD'))
      assert.equal(headers(head), headers(await sendBytes(requestFor(path))), path)
      assert.match(head, /content-length: [1-9][\s\S]*\r\n\r\n$/)
    }
  })

  it('is shown as a page if the request line can still be read', async () => {
    const long = await sendBytes(requestFor(`/pay/${'a'.repeat(17_000)}`))
    assert.match(long, /^HTTP\/1\.1 431 [\s\S]*\r\n\r\n<p>431 validation_failed<\/p>$/)
    assert.match(long, /content-security-policy: default-src 'none'; script-src/)
    assert.match(long, /x-request-id: /)
    assert.match(pageInputs.at(-1)?.path ?? '', /^\/pay\/a+$/)
    const manyCookies = `GET /pay/abc HTTP/1.1\r\nHost: x\r\nCookie: a=${'b'.repeat(17_000)}\r\n\r\n`
    assert.match(await sendBytes(manyCookies), /^HTTP\/1\.1 431 [\s\S]*<p>431 validation_failed<\/p>$/)
  })

  it('is an envelope at API addresses, or if the bytes are not from a browser', async () => {
    const program = await sendBytes(requestFor(`/api/v1/${'a'.repeat(17_000)}`))
    assert.match(program, /^HTTP\/1\.1 431 [\s\S]*"status":"error"/)
    for (const bytes of ['\x16\x03\x01', 'GET /pay/abc HTTP/7.0\r\n\r\n'])
      assert.match(await sendBytes(bytes), /^HTTP\/1\.1 400 [\s\S]*"status":"error"/)
  })

  it('F-60: reaches a browser that is still sending a form which is too large', async () => {
    const response = await upload((await listening).port, 20_000_000)
    assert.deepEqual(response, { http: 413, body: '<p>413 payload_too_large</p>' })
  })
})

/** Sends a whole form, as browsers do, even if the server responds earlier. */
async function upload(port: number, bytes: number): Promise<{ http: number | undefined; body: string }> {
  const headers = { ...FORM, 'content-length': bytes }
  const options = { host: '127.0.0.1', port, path: '/pay/abc/attempts', method: 'POST', headers }
  return new Promise((resolve, reject) => {
    const request = httpRequest(options, async (response) =>
      resolve({ http: response.statusCode, body: Buffer.concat(await response.toArray()).toString() }),
    )
    request.on('error', reject)
    request.end(Buffer.alloc(bytes, 'x'))
  })
}
