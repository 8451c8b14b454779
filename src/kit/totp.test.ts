import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { systemClock } from './clock.ts'
import { drawQr } from './qr.ts'
import { systemRandom } from './random.ts'
import { newTotpSecret, totpUri, verifyTotp } from './totp.ts'

const random = systemRandom(systemClock)
// '12345678901234567890', the secret of the test vectors in RFC 4226 and RFC 6238.
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

const verifyAt = (seconds: number, code: string, lastCounter: number | null = null) =>
  verifyTotp({ secret: SECRET, code, now: new Date(seconds * 1_000), lastCounter })

describe('one-time codes of an authenticator app', () => {
  it('agrees with the test vectors of RFC 4226, appendix D', () => {
    const codes = '755224 287082 359152 969429 338314 254676 287922 162583 399871 520489'.split(' ')
    for (const [counter, code] of codes.entries()) assert.equal(verifyAt(counter * 30, code), counter)
  })

  it('agrees with the last six digits of the SHA-1 test vectors of RFC 6238, appendix B', () => {
    const vectors = [
      [59, '94287082', 0x1],
      [1_111_111_109, '07081804', 0x23523ec],
      [1_111_111_111, '14050471', 0x23523ed],
      [1_234_567_890, '89005924', 0x273ef07],
      [2_000_000_000, '69279037', 0x3f940aa],
      [20_000_000_000, '65353130', 0x27bc86aa],
    ] as const
    for (const [seconds, code, counter] of vectors) assert.equal(verifyAt(seconds, code.slice(2)), counter)
  })

  it('accepts the step before and the step after, and none beyond', () => {
    const code = '287082'
    for (const seconds of [0, 29, 30, 59, 60, 89]) assert.equal(verifyAt(seconds, code), 1, `${seconds}`)
    for (const seconds of [90, 120, 3_000]) assert.equal(verifyAt(seconds, code), null, `${seconds}`)
  })

  it('accepts a code once: a counter that is not above the last one is refused', () => {
    assert.equal(verifyAt(59, '287082', null), 1)
    assert.equal(verifyAt(59, '287082', 0), 1)
    assert.equal(verifyAt(59, '287082', 1), null)
    assert.equal(verifyAt(59, '287082', 2), null)
    // The code of the step before, after the current one was used.
    assert.equal(verifyAt(59, '755224', 1), null)
    // The code of the step after may still follow.
    assert.equal(verifyAt(59, '359152', 1), 2)
  })

  it('ignores spaces in a code, and refuses everything that is not six digits', () => {
    assert.equal(verifyAt(59, ' 287 082 '), 1)
    for (const code of [
      '',
      '28708',
      '2870820',
      '94287082',
      '28708a',
      '+87082',
      '２８７０８２',
      '287082\n',
      '287.82',
    ])
      assert.equal(verifyAt(59, code), null, JSON.stringify(code))
  })

  it('refuses a code in which any digit was changed', () => {
    const codes = ['287082', '359152', '969429']
    for (const code of codes) assert.notEqual(verifyAt(60, code), null)
    for (const code of codes)
      for (let at = 0; at < 6; at += 1)
        for (let digit = 0; digit < 10; digit += 1) {
          const changed = code.slice(0, at) + digit + code.slice(at + 1)
          if (!codes.includes(changed)) assert.equal(verifyAt(60, changed), null, changed)
        }
  })

  it('makes secrets of 160 random bits in base32', () => {
    const secrets = Array.from({ length: 50 }, () => newTotpSecret(random))
    assert.equal(new Set(secrets).size, 50)
    for (const secret of secrets) assert.match(secret, /^[A-Z2-7]{32}$/)
    const known = newTotpSecret({ ...random, bytes: () => Buffer.from('12345678901234567890') })
    assert.equal(known, SECRET)
  })

  it('accepts the code of the bytes that a secret was made of, for any bytes', () => {
    const now = new Date(2_000_000_000_000)
    const counter = Buffer.from('0000000003f940aa', 'hex')
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        const secret = newTotpSecret({ ...random, bytes: () => bytes })
        const hash = createHmac('sha1', bytes).update(counter).digest()
        const number = hash.readUInt32BE(hash.readUInt8(19) % 16) % 2 ** 31
        const code = String(number).slice(-6).padStart(6, '0')
        assert.equal(verifyTotp({ secret, code, now, lastCounter: 0x3f940a9 }), 0x3f940aa)
      }),
    )
  })

  it('throws for a stored secret that was damaged, instead of accepting any code', () => {
    for (const secret of ['', 'GEZDGNBV', SECRET.toLowerCase(), `${SECRET}=`, `${SECRET.slice(1)}1`])
      assert.throws(
        () => verifyTotp({ secret, code: '287082', now: new Date(59_000), lastCounter: null }),
        /TOTP/,
      )
  })

  it('writes an otpauth address that apps read, in which no part can add a parameter', () => {
    assert.equal(
      totpUri({ issuer: 'Cowry', account: 'ada@example.com', secret: SECRET }),
      `otpauth://totp/Cowry:ada%40example.com?secret=${SECRET}&issuer=Cowry&algorithm=SHA1&digits=6&period=30`,
    )
    const uri = new URL(totpUri({ issuer: 'A & B: shop', account: 'x?secret=A#&y:z', secret: SECRET }))
    assert.equal(uri.pathname, '/A%20%26%20B%20%20shop:x%3Fsecret%3DA%23%26y%20z')
    assert.deepEqual(uri.searchParams.getAll('secret'), [SECRET])
    assert.deepEqual(uri.searchParams.getAll('issuer'), ['A & B  shop'])
    assert.doesNotMatch(uri.href, /\+/)
  })

  it('fits in a QR code that the server draws without a script', () => {
    const svg = drawQr(totpUri({ issuer: 'Cowry', account: `${'a'.repeat(64)}@example.com`, secret: SECRET }))
    assert.match(svg, /^<svg [^>]*viewBox="0 0 (\d+) \1"/)
    assert.doesNotMatch(svg, /script|href|GEZDG/)
  })
})
