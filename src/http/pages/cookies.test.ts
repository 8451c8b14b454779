import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cookieText, readCookies } from './cookies.ts'

const reading = (header: string | undefined) => JSON.stringify(readCookies(header))

describe('the Cookie header of a page request', () => {
  it('reads cookies by name, and percent-decodes their values where possible', () => {
    assert.equal(reading('a=1; b=two%20words; d=x=y'), '{"a":"1","b":"two words","d":"x=y"}')
    assert.equal(reading('rate=100%; half=%e9'), '{"rate":"100%","half":"%e9"}')
    assert.equal(reading(undefined), '{}')
  })

  it('drops cookies without a value and cookies with control characters, and keeps the others', () => {
    assert.equal(reading(';; alone; nul=%00; bell=%07; a=1; ;'), '{"a":"1"}')
  })

  it('F-76: reads a cookie named __proto__ or constructor as data', () => {
    const cookies = readCookies('__proto__=x; constructor=y')
    assert.equal(Object.getPrototypeOf(cookies), null)
    assert.deepEqual(Object.keys(cookies), ['__proto__', 'constructor'])
  })

  it('counts the first of two cookies with one name, which has the longest path', () => {
    assert.equal(reading('lang=fr; lang=en'), '{"lang":"fr"}')
  })
})

describe('the Set-Cookie header of a page response', () => {
  it('writes a cookie that reads back with the same value', () => {
    for (const value of ['', 'fr', 'a; Path=/x', '"quoted"', 'é ☃ 😀', '100%', 'a=b,c']) {
      const [pair] = cookieText({ name: 'seen', value, path: '/' }, true).split('; ')
      assert.equal(readCookies(`x=1; ${pair}`).seen, value)
    }
  })

  it('writes HttpOnly, SameSite=Lax, the path and the lifetime of a cookie, and Secure in production', () => {
    const cookie = { name: 'lang', value: 'fr', path: '/pay', maxAgeSeconds: 60 }
    const attributes = (isSecure: boolean) => cookieText(cookie, isSecure).split('; ').sort()
    assert.deepEqual(attributes(false), ['HttpOnly', 'Max-Age=60', 'Path=/pay', 'SameSite=Lax', 'lang=fr'])
    assert.ok(attributes(true).includes('Secure'))
  })

  it('refuses a cookie name or path that could add an attribute', () => {
    for (const name of ['', 'a b', 'a;b', 'a=b', 'a\r\nb'])
      assert.throws(() => cookieText({ name, value: '', path: '/' }, false), /cookie name is invalid/)
    for (const path of ['', 'pay', '/; Domain=evil.example', '/a\nb', '/é'])
      assert.throws(() => cookieText({ name: 'a', value: '', path }, false), /cookie path is invalid/)
  })
})
