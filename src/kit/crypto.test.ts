import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { systemClock } from './clock.ts'
import {
  constantTimeEquals,
  crc32,
  createSigner,
  createVault,
  deriveSecret,
  hmacSha256,
  VaultError,
} from './crypto.ts'
import { systemRandom } from './random.ts'

const random = systemRandom(systemClock)
const OLD = { id: 'k1', key: random.bytes(32) }
const NEW = { id: 'k2', key: random.bytes(32) }
const PLACE = { table: 'payment_methods', column: 'credential', rowId: 'row-1', merchantId: 'merchant-1' }

const failsWith = (reason: string) => (error: unknown) =>
  error instanceof VaultError && error.reason === reason

describe('the vault', () => {
  const vault = createVault([OLD], random)

  it('decrypts what it encrypted, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        assert.equal(vault.open(vault.seal(text, PLACE), PLACE), text)
      }),
    )
  })

  it('writes v1, the key id, the iv, the text and the tag, never the plain text', () => {
    const sealed = vault.seal('AUTH_secret', PLACE)
    assert.match(sealed, /^v1\.k1\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/)
    assert.ok(!Buffer.from(sealed.split('.')[3] ?? '', 'base64url').includes('AUTH'))
    assert.notEqual(sealed, vault.seal('AUTH_secret', PLACE))
  })

  it('F-92: does not decrypt a ciphertext in another row, column, table or merchant', () => {
    const sealed = vault.seal('AUTH_secret', PLACE)
    for (const part of ['table', 'column', 'rowId', 'merchantId'] as const)
      assert.throws(() => vault.open(sealed, { ...PLACE, [part]: 'other' }), failsWith('not_authentic'))
  })

  it('F-92: does not decrypt a text in which any character was changed', () => {
    const sealed = vault.seal('AUTH_secret', PLACE)
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      const tampered = sealed.slice(0, at) + other + sealed.slice(at + 1)
      assert.throws(() => vault.open(tampered, PLACE), VaultError)
    }
  })

  it('F-92: never passes plain text through', () => {
    for (const text of ['', 'AUTH_secret', 'v1.k1.a.b.c', 'v2.k1.a.b.c'])
      assert.throws(() => vault.open(text, PLACE), failsWith('malformed'))
  })

  it('F-92: names the missing key after a wrong rotation', () => {
    const sealed = vault.seal('AUTH_secret', PLACE)
    assert.throws(() => createVault([NEW], random).open(sealed, PLACE), failsWith('unknown_key'))
    const impostor = createVault([{ id: 'k1', key: NEW.key }], random)
    assert.throws(() => impostor.open(sealed, PLACE), failsWith('not_authentic'))
  })

  it('decrypts with an old key and encrypts with the new one after a rotation', () => {
    const sealed = vault.seal('AUTH_secret', PLACE)
    const rotated = createVault([NEW, OLD], random)
    assert.equal(rotated.open(sealed, PLACE), 'AUTH_secret')
    const again = rotated.seal('AUTH_secret', PLACE)
    assert.match(again, /^v1\.k2\./)
    assert.equal(rotated.open(again, PLACE), 'AUTH_secret')
  })

  it('refuses an invalid keyring', () => {
    assert.throws(() => createVault([], random), /at least one key/)
    assert.throws(() => createVault([{ id: 'k', key: random.bytes(16) }], random), /16 bytes/)
    assert.throws(() => createVault([OLD, OLD], random), /twice/)
    assert.throws(() => createVault([{ id: 'a.b', key: OLD.key }], random), /not a key id/)
  })

  it('refuses a context whose parts are ambiguous', () => {
    assert.throws(() => vault.seal('x', { ...PLACE, rowId: 'a|b' }), /must not contain/)
  })
})

describe('the signer', () => {
  const signer = createSigner(random.bytes(32))

  it('F-70: returns the payload, and nothing when the text was changed', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), fc.nat(), (payload, seed) => {
        const text = signer.sign(payload)
        assert.equal(signer.verify(text), payload)
        const at = seed % text.length
        const other = text[at] === 'A' ? 'B' : 'A'
        assert.equal(signer.verify(text.slice(0, at) + other + text.slice(at + 1)), undefined)
      }),
    )
  })

  it('rejects the signature of another key', () => {
    assert.equal(createSigner(random.bytes(32)).verify(signer.sign('42')), undefined)
    for (const text of ['', '.', 'a.b', 'a.b.c', '=.=']) assert.equal(signer.verify(text), undefined)
  })
})

describe('keyed hashes', () => {
  it('agrees with RFC 4231 and the check value of CRC-32', () => {
    assert.equal(
      hmacSha256('Jefe', 'what do ya want for nothing?').toString('hex'),
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
    assert.equal(crc32('123456789'), 0xcbf43926)
  })

  it('compare by value, and texts of different lengths are different', () => {
    assert.equal(constantTimeEquals(Buffer.from('abc'), Buffer.from('abc')), true)
    assert.equal(constantTimeEquals(Buffer.from('abc'), Buffer.from('abd')), false)
    assert.equal(constantTimeEquals(Buffer.from('abc'), Buffer.from('abcd')), false)
  })

  it('derive a different secret for every purpose', () => {
    assert.notDeepEqual(deriveSecret('s', 'cursor'), deriveSecret('s', 'webhook'))
    assert.deepEqual(deriveSecret('s', 'cursor'), deriveSecret('s', 'cursor'))
  })
})
