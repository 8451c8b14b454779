import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ALLOW_LOOPBACK,
  ALLOW_NOTHING,
  type AllowList,
  createAddressRules,
  readAllowList,
} from './public-address.ts'

const PORTS = [443, 8443]
const strict = createAddressRules(ALLOW_NOTHING, PORTS)

const rulesFor = (text: string) => {
  const allow = readAllowList(text)
  assert.ok(!('issue' in allow), JSON.stringify(allow))
  return createAddressRules(allow, PORTS)
}

describe('public addresses', () => {
  it('are the globally routable ranges', () => {
    const addresses = ['8.8.8.8', '1.1.1.1', '100.63.255.255', '172.32.0.1', '223.255.255.254']
    for (const address of [...addresses, '2606:4700::1111', '2a00:1450:4001::200e', '2c0f:fb50::1'])
      assert.ok(strict.permits('host.example', address), address)
  })

  it('are no reserved IPv4 range, from its first to its last address', () => {
    const ends = ['0.0.0.0', '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255']
    const more = ['127.0.0.1', '127.255.255.255', '169.254.169.254', '172.16.0.0', '172.31.255.255']
    const odd = ['192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.255.255', '198.18.0.0', '198.19.255.255']
    const last = ['168.63.129.16', '198.51.100.7', '203.0.113.9', '224.0.0.1', '240.0.0.1', '255.255.255.255']
    for (const address of [...ends, ...more, ...odd, ...last])
      assert.ok(!strict.permits('host.example', address), address)
  })

  it('are no IPv6 address that is local or embeds an IPv4 address', () => {
    const local = ['::', '::1', 'fc00::1', 'fdff::1', 'fe80::1', 'fec0::1', 'ff02::1', 'fd00:ec2::254']
    const carrying = ['::ffff:8.8.8.8', '::ffff:a9fe:a9fe', '::7f00:1', '64:ff9b::a00:1', '64:ff9b:1::1']
    const tunnels = ['2002:7f00:1::', '2001:0:53aa::1', '2001:10::1', '2001:db8::1', '3fff::1', '100::1']
    for (const address of [...local, ...carrying, ...tunnels, '5f00::1', '4000::', '1fff::'])
      assert.ok(!strict.permits('host.example', address), address)
  })
})

describe('an address that a merchant configures', () => {
  it('is accepted if it is a public host with https', () => {
    const fine = ['https://shop.example/hook?a=1', 'https://shop.example:8443', 'https://SHOP.example./x']
    for (const url of [...fine, 'https://8.8.8.8/', 'https://[2606:4700::1111]/', 'https://bücher.example/'])
      assert.equal(strict.validate(url), undefined, url)
  })

  it('is refused with a message that says what to change', () => {
    const expected: [string, RegExp][] = [
      ['ftp://shop.example/', /^must be an https address/],
      ['https://user:secret@shop.example/', /without user name/],
      ['http://shop.example/', /^must begin with https$/],
      ['https://shop.example:22/', /^must use port 443 or 8443, not 22$/],
      ['https://10.0.0.5/', /^must lead to a public host; .* operator of this service allows it$/],
      ['https://intranet/', /^must lead to a public host/],
      ['https://localhost../', /^must name a host without empty parts/],
      ['https://db.internal../', /^must name a host without empty parts/],
      ['https://shop..example/', /^must name a host without empty parts/],
    ]
    for (const [url, words] of expected) assert.match(strict.validate(url) ?? '', words, url)
  })
})

describe('the allow-list of the operator', () => {
  it('holds addresses, ranges and host names, or nothing', () => {
    assert.deepEqual(readAllowList('10.0.0.0/8, 192.168.1.7,fd00::/8,::1, Hooks.Intranet,localhost'), {
      ranges: ['10.0.0.0/8', '192.168.1.7/32', 'fd00::/8', '::1/128'],
      names: ['hooks.intranet', 'localhost'],
    } satisfies AllowList)
    assert.deepEqual(readAllowList('none'), ALLOW_NOTHING)
    const wrong = [
      '10.0.0.0/33',
      '10.0.0/8',
      '::/129',
      '10.0.0.0/8/9',
      '10.0.0.0/',
      'a b',
      '',
      'http://a',
      '127.1',
    ]
    for (const text of [...wrong, '*.example', 'a..b', '10.0.0.0/8,,b'])
      assert.ok('issue' in readAllowList(text), text)
  })

  it('permits http and any port', () => {
    const rules = rulesFor('10.1.0.0/16,fd00::/8,hooks.intranet')
    const listed = [
      'http://10.1.2.3:3000/',
      'http://[fd12::1]/',
      'http://hooks.intranet:99',
      'https://hooks.intranet.',
    ]
    for (const url of listed) assert.equal(rules.validate(url), undefined, url)
    for (const url of [
      'http://10.2.0.1/',
      'https://10.2.0.1/',
      'http://other.intranet/',
      'http://shop.example/',
    ])
      assert.notEqual(rules.validate(url), undefined, url)
  })

  it('permits a listed host with any address, and a listed range under any name', () => {
    const rules = rulesFor('10.1.0.0/16,hooks.intranet')
    assert.ok(rules.permits('hooks.intranet', '192.168.0.1'))
    assert.ok(rules.permits('shop.example', '10.1.0.1'))
    assert.ok(!rules.permits('shop.example', '192.168.0.1'))
    assert.ok(!rules.permits('shop.example', '10.2.0.1'))
  })

  it('is this machine alone for a developer', () => {
    const rules = createAddressRules(ALLOW_LOOPBACK, PORTS)
    for (const url of ['http://localhost:3000/hook', 'http://127.0.0.1:3000', 'http://[::1]:3000/'])
      assert.equal(rules.validate(url), undefined, url)
    for (const url of [
      'http://10.0.0.1/',
      'http://0.0.0.0:3000/',
      'https://169.254.169.254/',
      'https://intranet/',
    ])
      assert.notEqual(rules.validate(url), undefined, url)
  })
})
