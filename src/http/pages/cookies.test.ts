import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cookieText, readCookies } from './cookies.ts'

const reading = (header: string | undefined) => JSON.stringify(readCookies(header))

describe('a Cookie header', () => {
  it('is read into values by name, percent-decoded where that is possible', () => {
    assert.equal(
      reading('a=1; b=two%20words;c="quoted"; d=x=y'),
      '{"a":"1","b":"two words","c":"quoted","d":"x=y"}',
    )
    assert.equal(reading('rate=100%; half=%e9'), '{"rate":"100%","half":"%e9"}')
    assert.equal(reading(undefined), '{}')
  })

  it('loses only what cannot be read', () => {
    assert.equal(reading(';;=; =x; alone; two words=1; nul=%00; bell=%07; a=1; ;'), '{"a":"1"}')
  })

  it('F-76: has no cookie that stands for something else', () => {
    const cookies = readCookies('__proto__=x; constructor=y')
    assert.equal(Object.getPrototypeOf(cookies), null)
    assert.deepEqual(Object.keys(cookies), ['__proto__', 'constructor'])
  })

  it('counts the first of two with one name, which is that of the longest path', () => {
    assert.equal(reading('lang=fr; lang=en'), '{"lang":"fr"}')
  })
})

describe('a cookie of ours', () => {
  it('is read again as it was written, whatever its value', () => {
    for (const value of ['', 'fr', 'a; Path=/x', '"quoted"', 'é ☃ 😀', '100%', 'a=b,c']) {
      const [pair] = cookieText({ name: 'seen', value, path: '/' }, true).split('; ')
      assert.equal(readCookies(`x=1; ${pair}`).seen, value)
    }
  })

  it('cannot have a name or a path that would say more than it', () => {
    for (const name of ['', 'a b', 'a;b', 'a=b', 'a\r\nb'])
      assert.throws(() => cookieText({ name, value: '', path: '/' }, false), /name of a cookie/)
    for (const path of ['', 'pay', '/; Domain=evil.example', '/a\nb', '/é'])
      assert.throws(() => cookieText({ name: 'a', value: '', path }, false), /path of a cookie/)
  })
})
