import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isAllowedReturn } from './return-url.ts'

const REGISTERED = { redirectOrigins: ['https://shop.example', 'https://pay.shop.example:8443'] }
const ANYWHERE = { redirectOrigins: [] }

describe('the redirect URL of a payment', () => {
  it('allows any https redirect URL if the merchant has registered no origin', () => {
    for (const mode of ['live', 'test'] as const)
      assert.ok(isAllowedReturn(ANYWHERE, 'https://elsewhere.example/thanks?a=1#b', mode))
    assert.ok(!isAllowedReturn(ANYWHERE, 'http://elsewhere.example/', 'live'))
    assert.ok(isAllowedReturn(ANYWHERE, 'http://shop.local/', 'test'))
  })

  it('allows a redirect to a registered origin, with any path and spelling of the host', () => {
    for (const mode of ['live', 'test'] as const)
      for (const url of [
        'https://shop.example',
        'https://shop.example/thanks?next=https://evil.example/#x',
        'HTTPS://Shop.Example:443/',
        'https://pay.shop.example:8443/',
      ])
        assert.ok(isAllowedReturn(REGISTERED, url, mode), url)
  })

  it('rejects a redirect to another subdomain, port or scheme, or to a host with the same prefix (F-80)', () => {
    for (const mode of ['live', 'test'] as const)
      for (const url of [
        'https://www.shop.example/',
        'https://shop.example:8443/',
        'https://pay.shop.example/',
        'http://shop.example/',
        'https://shop.example.evil.example/',
        'https://shop.example@evil.example/',
        'https://evil.example/https://shop.example/',
        'https://shop.example\\@evil.example/',
        '//shop.example/',
        'javascript:alert(1)//https://shop.example',
        'nonsense',
        '',
      ])
        assert.ok(!isAllowedReturn(REGISTERED, url, mode), url)
  })

  it('allows a redirect to localhost in test mode only', () => {
    for (const url of [
      'http://localhost:3000/',
      'http://127.0.0.1/',
      'http://[::1]:80/',
      'https://localhost/',
    ]) {
      assert.ok(isAllowedReturn(REGISTERED, url, 'test'), url)
      assert.ok(!isAllowedReturn(REGISTERED, url, 'live'), url)
    }
    assert.ok(!isAllowedReturn(REGISTERED, 'http://localhost.evil.example/', 'test'))
  })

  it('allows no redirect URL that a browser resolves to an unregistered origin (F-80)', () => {
    const beginning = fc.constantFrom(
      'https://shop.example',
      'https://shop.example/',
      'HTTPS://SHOP.example:',
      '',
    )
    const ending = fc.oneof(fc.webUrl(), fc.string(), fc.stringMatching(/^[@:/\\.?#\w]{0,12}evil\.example$/))
    let allowed = 0
    fc.assert(
      fc.property(beginning, ending, (first, rest) => {
        const url = first + rest
        if (!isAllowedReturn(REGISTERED, url, 'live')) return
        allowed += 1
        assert.ok(REGISTERED.redirectOrigins.includes(new URL(url).origin), url)
      }),
      { numRuns: 2_000 },
    )
    assert.ok(allowed > 50, `only ${allowed} URLs were allowed, so the property was hardly tested`)
  })
})
