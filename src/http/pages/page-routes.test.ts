import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell } from '../../../test/support/fake-shell.ts'
import { ApiError } from '../../core/errors.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'

type PageInput = Parameters<PageRoute['handle']>[0]

function pageShell(handle: PageRoute['handle']) {
  return fakeShell({
    pageRoutes: [
      { method: 'GET', path: '/pay/{accessCode}', handle },
      { method: 'POST', path: '/pay/{accessCode}', handle },
    ],
  })
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

describe('a page route', () => {
  it('passes parameters, query, form and headers to the page as strings', async () => {
    const seen: PageInput[] = []
    const { post } = pageShell(async (input) => {
      seen.push(input)
      return { http: 200, html: '<p>hello</p>' }
    })
    const response = await post('/pay/abc%20d?lang=fr', 'name=Ama+A&note=a%0D%0Ab&__proto__=x', FORM)
    assert.equal(response.http, 200)
    assert.equal(response.body, '<p>hello</p>')
    assert.equal(response.headers['content-type'], 'text/html; charset=utf-8')
    const [input] = seen
    assert.equal(JSON.stringify(input?.params), '{"accessCode":"abc d"}')
    assert.equal(JSON.stringify(input?.query), '{"lang":"fr"}')
    assert.equal(JSON.stringify(input?.form), '{"name":"Ama A","note":"a\\nb","__proto__":"x"}')
    assert.equal(input?.headers['content-type'], FORM['content-type'])
    assert.equal(input?.requestId, response.headers['x-request-id'])
  })

  it('F-81: sends a policy that allows only our own origin, and styles only with the nonce of this response', async () => {
    const nonces = new Set<string>()
    const { get } = pageShell(async ({ styleNonce }) => {
      nonces.add(styleNonce)
      return { http: 200, html: styleNonce, formActions: ['https://gateway.example/pay?x=1'] }
    })
    const response = await get('/pay/abc')
    assert.equal(
      response.headers['content-security-policy'],
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${response.body}'; img-src 'self' data:; connect-src 'self'; form-action 'self' https://gateway.example; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; report-uri /csp-reports; report-to csp`,
    )
    assert.equal(response.headers['cache-control'], 'no-store')
    assert.equal(response.headers['referrer-policy'], 'no-referrer')
    assert.equal(response.headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(response.headers['reporting-endpoints'], 'csp="/csp-reports"')
    assert.match(String(response.headers['permissions-policy']), /camera=\(\), .*payment=\(\), .*usb=\(\)/)
    assert.doesNotMatch(String(response.headers['permissions-policy']), /clipboard-write/)
    await get('/pay/abc')
    assert.equal(nonces.size, 2)
  })

  it('F-81: sends a policy without any source for responses that are not documents, and a sandbox for images', async () => {
    const policyOf = async (response: PageResponse) =>
      (await pageShell(async () => response).get('/pay/abc')).headers['content-security-policy']
    const none = "default-src 'none'; frame-ancestors 'none'"
    assert.equal(await policyOf({ http: 200, content: { type: 'application/json', body: '{}' } }), none)
    assert.equal(await policyOf({ http: 303, redirectTo: '/' }), none)
    for (const type of ['image/png', 'image/svg+xml'])
      assert.equal(await policyOf({ http: 200, content: { type, body: 'x' } }), `${none}; sandbox`)
    const headers = { 'content-security-policy': 'sandbox' }
    assert.equal(await policyOf({ http: 200, content: { type: 'text/css', body: '' }, headers }), 'sandbox')
  })

  it('passes cookies to the page, and sets HttpOnly and SameSite cookies', async () => {
    const seen: PageInput[] = []
    const page = async (input: PageInput) => {
      seen.push(input)
      const language = { name: 'lang', value: 'fr; é', path: '/pay/a%20b', maxAgeSeconds: 31_536_000 }
      return {
        http: 200,
        html: '',
        cookies: [language, { name: 'old', value: '', path: '/', maxAgeSeconds: 0 }],
      }
    }
    const response = await pageShell(page).get('/pay/abc', { cookie: 'lang=fr%3B%20%C3%A9; nonsense' })
    assert.equal(JSON.stringify(seen[0]?.cookies), '{"lang":"fr; é"}')
    assert.deepEqual(response.headers['set-cookie'], [
      'lang=fr%3B%20%C3%A9; Max-Age=31536000; Path=/pay/a%20b; HttpOnly; SameSite=Lax',
      'old=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    ])
  })

  it('sets cookies on a redirect too, and Secure cookies in production', async () => {
    const { shell } = fakeShell({
      environment: 'production',
      pageRoutes: [
        {
          method: 'POST',
          path: '/lang',
          handle: async () => ({
            http: 303,
            redirectTo: '/',
            cookies: [{ name: 'lang', value: 'sw', path: '/' }],
          }),
        },
      ],
    })
    const response = await shell.inject({ method: 'POST', url: '/lang' })
    assert.equal(response.http, 303)
    assert.deepEqual(response.headers['set-cookie'], ['lang=sw; Path=/; HttpOnly; Secure; SameSite=Lax'])
  })

  it('is cached as immutable only if its response says so, and then sets no cookie', async () => {
    const content = { type: 'text/javascript; charset=utf-8', body: 'go()' }
    const kept = await pageShell(async () => ({ http: 200, content, cache: 'immutable' })).get('/pay/abc')
    assert.equal(kept.headers['cache-control'], 'public, max-age=31536000, immutable')
    const cookies = [{ name: 'lang', value: 'fr', path: '/' }]
    const both = await pageShell(async () => ({ http: 200, content, cache: 'immutable', cookies })).get(
      '/pay/x',
    )
    assert.equal(both.http, 500)
    assert.equal(both.headers['cache-control'], 'no-store')
    assert.equal(both.headers['set-cookie'], undefined)
  })

  it('may send bytes, such as an image', async () => {
    const body = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00])
    const { shell } = pageShell(async () => ({ http: 200, content: { type: 'image/png', body } }))
    const { port } = await shell.listen('127.0.0.1', 0)
    const response = await fetch(`http://127.0.0.1:${port}/pay/logo`)
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), body)
    assert.equal(response.headers.get('content-type'), 'image/png')
    await shell.stop()
  })

  it('answers HEAD like GET, without the body', async () => {
    const responses: PageResponse[] = [
      { http: 200, html: '<p>hello</p>', cookies: [{ name: 'lang', value: 'fr', path: '/' }] },
      { http: 200, content: { type: 'image/png', body: Buffer.alloc(700) }, cache: 'immutable' },
      { http: 303, redirectTo: 'https://shop.example/back' },
    ]
    for (const given of responses) {
      const { shell } = pageShell(async () => given)
      const got = await shell.inject({ method: 'GET', url: '/pay/abc' })
      const head = await shell.inject({ method: 'HEAD', url: '/pay/abc' })
      assert.deepEqual([head.http, head.body], [got.http, ''])
      for (const name of ['content-length', 'content-type', 'cache-control', 'set-cookie', 'location'])
        assert.deepEqual(head.headers[name], got.headers[name], name)
    }
  })

  it('redirects with 303', async () => {
    const { post } = pageShell(async () => ({
      http: 200,
      redirectTo: 'https://shop.example/back?reference=1',
    }))
    const response = await post('/pay/abc', '', FORM)
    assert.equal(response.http, 303)
    assert.equal(response.headers.location, 'https://shop.example/back?reference=1')
  })

  it('may send a script or a JSON status', async () => {
    const content = { type: 'application/json', body: '{"status":"pending"}' }
    const { get } = pageShell(async () => ({ http: 200, content, headers: { 'x-more': 'yes' } }))
    const response = await get('/pay/abc')
    assert.match(String(response.headers['content-type']), /^application\/json/)
    assert.equal(response.headers['x-more'], 'yes')
  })

  it('shows an API error as a page with the same status, without internals', async () => {
    const refused = await pageShell(async () => {
      throw new ApiError('payment_not_found', { message: 'No <b>payment</b>.' })
    }).get('/pay/abc')
    assert.equal(refused.http, 404)
    assert.match(String(refused.headers['content-type']), /^text\/html/)
    assert.match(refused.body, /No &lt;b&gt;payment/)
    assert.match(refused.body, new RegExp(String(refused.headers['x-request-id'])))
    const failed = await pageShell(async () => {
      throw new Error('secret')
    }).get('/pay/abc')
    assert.equal(failed.http, 500)
    assert.doesNotMatch(failed.body, /secret/)
  })

  it('F-64: refuses control characters, bad encoding and large forms with a page', async () => {
    const { get, post } = pageShell(async () => ({ http: 200, html: '' }))
    for (const response of [
      await get('/pay/a%00b'),
      await get('/pay/abc?x=%00'),
      await get('/pay/abc?x=%zz'),
      await post('/pay/abc', 'name=%00', FORM),
    ]) {
      assert.equal(response.http, 400)
      assert.match(String(response.headers['content-type']), /^text\/html/)
    }
    const large = await post('/pay/abc', `name=${'x'.repeat(16_384)}`, FORM)
    assert.equal(large.http, 413)
    assert.match(large.body, /16 KB/)
    assert.equal((await post('/pay/abc', '{}')).http, 415)
  })

  it('refuses and passes on no query and no body if it ignores its input', async () => {
    const seen: unknown[] = []
    const handle: PageRoute['handle'] = async ({ query, form }) => {
      seen.push({ ...query }, { ...form })
      return { http: 200, html: '' }
    }
    const { get, post } = fakeShell({
      pageRoutes: (['GET', 'POST'] as const).map((method) => ({
        ...{ method, path: '/pay/{accessCode}/return', handle, ignoresInput: true },
      })),
    })
    for (const response of [
      await get('/pay/abc/return?%ff&x=%00'),
      await post('/pay/abc/return', 'issuer=Soci%E9t%E9&x=%00', FORM),
      await post('/pay/abc/return', `x=${'x'.repeat(20_000)}`, FORM),
      await post('/pay/abc/return', '{', { 'content-type': 'application/json' }),
      await post('/pay/abc/return', 'text', { 'content-type': 'multipart/form-data' }),
      await post('/pay/abc/return', 'text', {}),
    ])
      assert.equal(response.http, 200)
    assert.deepEqual(
      seen,
      Array.from({ length: 12 }, () => ({})),
    )
  })
})
