import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../kit/clock.ts'
import { systemRandom } from '../kit/random.ts'
import { allowsAddress, buildAddressList, isAddressBlock, isWithinBlocks } from './addresses.ts'
import {
  claimedMode,
  formatApiKey,
  generateApiKey,
  hashSecret,
  maskApiKey,
  parseApiKey,
} from './key-format.ts'

const random = systemRandom(systemClock)
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('an API key', () => {
  it('is parsed from the format that the contract defines', () => {
    for (const mode of ['test', 'live'] as const) {
      const key = generateApiKey(mode, random)
      const text = formatApiKey(key)
      assert.match(text, new RegExp(`^cowry_${mode}_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$`))
      assert.deepEqual(parseApiKey(text), key)
    }
  })

  it('fails its checksum when any one character is mistyped', () => {
    const text = formatApiKey(generateApiKey('test', random))
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...BASE62, '_', ' '), (at, character) => {
        fc.pre(text[at] !== character)
        assert.equal(parseApiKey(text.slice(0, at) + character + text.slice(at + 1)), undefined)
      }),
    )
  })

  it('fails its checksum when two neighbouring characters are swapped or the key is truncated', () => {
    const text = formatApiKey(generateApiKey('live', random))
    for (let at = 0; at < text.length - 1; at++) {
      const swapped = `${text.slice(0, at)}${text[at + 1]}${text[at]}${text.slice(at + 2)}`
      if (swapped !== text) assert.equal(parseApiKey(swapped), undefined)
      assert.equal(parseApiKey(text.slice(0, at)), undefined)
    }
    for (const other of ['', ` ${text}`, `${text}\n`, text.replace('live', 'test')])
      assert.equal(parseApiKey(other), undefined)
  })

  it('names its environment in the prefix', () => {
    assert.equal(claimedMode('cowry_live_x'), 'live')
    assert.equal(claimedMode('cowry_test_'), 'test')
    assert.equal(claimedMode('sk_live_x'), undefined)
  })

  it('does not reveal its secret when masked or hashed', () => {
    const key = generateApiKey('test', random)
    assert.equal(maskApiKey(key.mode, key.id), `cowry_test_${key.id}_…`)
    const pepper = random.bytes(32)
    assert.deepEqual(hashSecret(pepper, key.secret), hashSecret(pepper, key.secret))
    assert.notDeepEqual(hashSecret(random.bytes(32), key.secret), hashSecret(pepper, key.secret))
  })

  it('has a unique id among ten thousand keys', () => {
    const ids = new Set(Array.from({ length: 10_000 }, () => generateApiKey('test', random).id))
    assert.equal(ids.size, 10_000)
  })
})

describe('the IP allow list of an API key', () => {
  it('allows any address when it is empty', () => {
    assert.equal(allowsAddress(buildAddressList([]), '203.0.113.9'), true)
  })

  it('allows the addresses in its blocks, IPv4 and IPv6', () => {
    const list = buildAddressList(['203.0.113.0/24', '198.51.100.7', '2001:db8::/32'])
    for (const ip of ['203.0.113.9', '198.51.100.7', '::ffff:203.0.113.9', '2001:db8::1'])
      assert.equal(allowsAddress(list, ip), true, ip)
    for (const ip of ['203.0.114.9', '198.51.100.8', '::ffff:10.0.0.1', '2001:db9::1', '', 'x'])
      assert.equal(allowsAddress(list, ip), false, ip)
  })

  it('allows no address when its entries are unreadable', () => {
    assert.equal(allowsAddress(buildAddressList(['nonsense']), '203.0.113.9'), false)
  })

  it('rejects entries that are not addresses or blocks', () => {
    for (const text of ['10.0.0.0/8', '::1', '2001:db8::/128', '0.0.0.0/0'])
      assert.ok(isAddressBlock(text), text)
    for (const text of [
      '10.0.0.0/33',
      '10.0.0/8',
      '::1/129',
      'fe80::1%eth0',
      '1.2.3.4/',
      '1.2.3.4/a',
      'host',
      '',
    ])
      assert.ok(!isAddressBlock(text), text)
  })

  it('contains another block only if it allows every address of it', () => {
    const octet = fc.integer({ min: 0, max: 3 })
    const address = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'))
    const block = fc.tuple(address, fc.integer({ min: 0, max: 32 })).map(([at, bits]) => `${at}/${bits}`)
    let within = 0
    fc.assert(
      fc.property(block, fc.array(block, { minLength: 1, maxLength: 3 }), address, (inner, outer, ip) => {
        fc.pre(allowsAddress(buildAddressList([inner]), ip) && isWithinBlocks(inner, outer))
        within += 1
        assert.ok(allowsAddress(buildAddressList(outer), ip), `${ip} in ${inner} in ${outer}`)
      }),
    )
    assert.ok(within > 50)
    assert.ok(isWithinBlocks('2001:db8:1::/48', ['10.0.0.0/8', '2001:db8::/32']))
    for (const wide of ['2001:db8::/31', '10.0.0.1', '::ffff:10.0.0.1', 'nonsense'])
      assert.ok(!isWithinBlocks(wide, ['2001:db8::/32']), wide)
  })
})
