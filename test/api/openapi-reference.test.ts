import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createPayer, openCheckout } from '../support/payer.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const anonymous = service.apiWith(undefined)

describe('the API reference', () => {
  it('serves the API reference without any other server', async () => {
    const seen = new Set<string>()
    for (const path of ['/docs', '/docs/api', '/docs/states']) {
      const { http, headers, text } = await anonymous.get(path)
      assert.equal(http, 200, path)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      // A random nonce may contain two hyphens.
      const fixed = text.replaceAll(/nonce="[^"]*"/g, '')
      const addresses = [...fixed.matchAll(/\b(?:https?:)?\/\/[\w.-]+/g)].map(([address]) => address)
      assert.deepEqual(addresses, [], path)
      for (const [, address = ''] of text.matchAll(/(?:src|href)="([^"#]+)/g)) {
        assert.match(address, /^(data:,|\/$|\/docs|\/openapi\.json|\/llms\.txt)/)
        seen.add(address)
      }
    }
    // Each once: the documentation has a rate limit by address.
    for (const address of seen)
      if (!address.startsWith('data:')) assert.equal((await anonymous.get(address)).http, 200, address)
  })

  it('serves the script of the reference itself, also compressed, with a cache time of a day', async () => {
    const script = await fetch(`${service.url}/docs/reference.js`, { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(script.status, 200)
    assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.equal(script.headers.get('content-encoding'), 'gzip')
    assert.match(script.headers.get('cache-control') ?? '', /^public, max-age=\d+$/)
    assert.match(await script.text(), /createApiReference/)
  })
})

describe('security headers of responses', () => {
  const payer = createPayer()
  const common = {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
  }

  it('sends strict headers with API responses: no loading, framing, caching or sniffing', async () => {
    const answers = [
      await service.api.get('/api/v1/wallet/balance'),
      await anonymous.get('/api/v1/wallet/balance'),
      await service.admin.get('/admin/v1/merchants'),
      await anonymous.get('/healthz'),
      await anonymous.get('/readyz'),
      await anonymous.get('/nowhere'),
      await anonymous.postText('/hooks/sandbox', '{}'),
    ]
    for (const { headers } of answers) {
      for (const [name, value] of Object.entries(common)) assert.equal(headers.get(name), value)
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'")
      assert.equal(headers.get('access-control-allow-origin'), null)
    }
  })

  it('allows pages to load from our origin only', async () => {
    const { page } = await openCheckout(service.api, payer)
    for (const { headers } of [page, await anonymous.get('/'), await anonymous.get('/docs/search')]) {
      for (const [name, value] of Object.entries(common)) assert.equal(headers.get(name), value)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[^']+'; /)
      assert.match(policy, /frame-ancestors 'none';/)
      assert.ok(!policy.includes('unsafe'))
      assert.match(headers.get('permissions-policy') ?? '', /camera=\(\)/)
    }
  })

  it('allows the reference its own script and requests to our origin only', async () => {
    const { headers, text } = await anonymous.get('/docs/api')
    const policy = headers.get('content-security-policy') ?? ''
    const [, nonce = 'none'] = /<script nonce="([^"]+)"/.exec(text) ?? []
    assert.ok(policy.includes(`script-src 'nonce-${nonce}';`), policy)
    assert.match(policy, /connect-src 'self';/)
    assert.ok(!/https?:|\*|unsafe-eval/.test(policy), policy)
  })

  it('does not disclose the server software', async () => {
    const { headers } = await anonymous.get('/')
    for (const name of ['server', 'x-powered-by']) assert.equal(headers.get(name), null)
  })
})
