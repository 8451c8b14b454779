import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createPayer, openCheckout } from '../support/payer.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const anonymous = service.apiWith(undefined)

describe('the API reference', () => {
  it('is a page of our own that names no other server', async () => {
    for (const path of ['/docs', '/docs/', '/docs/errors']) {
      const { http, headers, text } = await anonymous.get(path)
      assert.equal(http, 200, path)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      // A nonce is drawn, and may have two strokes in it.
      const fixed = text.replaceAll(/nonce="[^"]*"/g, '')
      const addresses = [...fixed.matchAll(/\b(?:https?:)?\/\/[\w.-]+/g)].map(([address]) => address)
      assert.deepEqual(addresses, [], path)
      for (const [, address = ''] of text.matchAll(/(?:src|href)="([^"#]+)/g)) {
        assert.match(address, /^(data:,|\/$|\/docs|\/openapi\.json)/)
        if (!address.startsWith('data:')) assert.equal((await anonymous.get(address)).http, 200, address)
      }
    }
  })

  it('brings its script from here, also zipped, and may be kept for a day', async () => {
    const script = await anonymous.get('/docs/reference.js', { 'accept-encoding': 'gzip' })
    assert.equal(script.http, 200)
    assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.equal(script.headers.get('content-encoding'), 'gzip')
    assert.match(script.headers.get('cache-control') ?? '', /^public, max-age=\d+$/)
    assert.match(script.text, /createApiReference/)
  })
})

describe('the headers of every kind of answer', () => {
  const payer = createPayer()
  const common = {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
  }

  it('are strict for programs: nothing is loaded, framed, cached or sniffed', async () => {
    const answers = [
      await service.api.get('/api/v1/wallet/balance'),
      await anonymous.get('/api/v1/wallet/balance'),
      await service.admin.get('/admin/v1/merchants'),
      await anonymous.get('/openapi.json'),
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

  it('let pages load from us alone', async () => {
    const { page } = await openCheckout(service.api, payer)
    for (const { headers } of [page, await anonymous.get('/'), await anonymous.get('/docs/errors')]) {
      for (const [name, value] of Object.entries(common)) assert.equal(headers.get(name), value)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[^']+'; /)
      assert.match(policy, /frame-ancestors 'none';/)
      assert.ok(!policy.includes('unsafe'))
      assert.match(headers.get('permissions-policy') ?? '', /camera=\(\)/)
    }
  })

  it('let the reference run its own script and talk to us alone', async () => {
    const { headers, text } = await anonymous.get('/docs')
    const policy = headers.get('content-security-policy') ?? ''
    const [, nonce = 'none'] = /<script nonce="([^"]+)"/.exec(text) ?? []
    assert.ok(policy.includes(`script-src 'nonce-${nonce}';`), policy)
    assert.match(policy, /connect-src 'self';/)
    assert.ok(!/https?:|\*|unsafe-eval/.test(policy), policy)
  })

  it('do not say what serves', async () => {
    const { headers } = await anonymous.get('/')
    for (const name of ['server', 'x-powered-by']) assert.equal(headers.get(name), null)
  })
})
