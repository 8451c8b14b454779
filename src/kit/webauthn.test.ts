// Passkeys of our own authenticator in test/support; webauthn/agreement.test.ts compares more verdicts with another verifier.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { ALGORITHMS, createAuthenticator, encodeCbor, FLAGS } from '../../test/support/authenticator.ts'
import {
  AUTHENTICATORS,
  CHALLENGE,
  isAccepted,
  otherOnNew,
  otherOnUse,
  reasonOf,
  SAID,
  SITE,
  verifyNew,
  verifyUse,
} from '../../test/support/passkeys.ts'
import { credentialIdOf, verifyRegistration } from './webauthn.ts'

describe('a passkey that is registered and used', () => {
  for (const algorithm of ALGORITHMS) {
    const authenticator = AUTHENTICATORS[algorithm]

    it(`is accepted by us and by another verifier, with the same values: ${algorithm}`, async () => {
      const registration = authenticator.register({ ...SAID, signCount: 7, flags: 0x5d })
      const made = verifyNew(registration)
      assert.deepEqual(made, {
        credentialId: authenticator.credentialId,
        publicKey: authenticator.publicKey,
        signCount: 7,
        isBackedUp: true,
        isUserVerified: true,
      })
      const other = await otherOnNew(registration, {})
      assert.equal(other?.credential.id, authenticator.credentialId)
      assert.deepEqual(Buffer.from(other?.credential.publicKey ?? []), authenticator.publicKey)

      const assertion = authenticator.assert({ ...SAID, signCount: 8 })
      const options = { algorithm, storedSignCount: 7 }
      assert.deepEqual(verifyUse(assertion, options), {
        signCount: 8,
        isBackedUp: false,
        isUserVerified: true,
      })
      assert.equal((await otherOnUse(assertion, options))?.newCounter, 8)
    })

    it(`is accepted by both verifiers with a self attestation, whose signature must be right: ${algorithm}`, async () => {
      const registration = authenticator.register({ ...SAID, attestation: 'packed' })
      assert.ok(isAccepted(verifyNew(registration)))
      assert.ok(await otherOnNew(registration, {}))
      const other = authenticator.register({ ...SAID, clientData: { other: true } })
      registration.response.clientDataJSON = other.response.clientDataJSON
      assert.deepEqual(verifyNew(registration), { refused: 'wrong_signature' })
      assert.equal(await otherOnNew(registration, {}), undefined)
    })
  }

  it('is accepted by both verifiers with extension data', async () => {
    const extensions = encodeCbor({ credProtect: 2, 'hmac-secret': true })
    const flags = FLAGS.UP | FLAGS.UV | FLAGS.ED
    const registration = AUTHENTICATORS.ES256.register({ ...SAID, flags: flags | FLAGS.AT, extensions })
    const assertion = AUTHENTICATORS.ES256.assert({ ...SAID, flags, extensions })
    assert.ok(isAccepted(verifyNew(registration)) && (await otherOnNew(registration, {})))
    assert.ok(isAccepted(verifyUse(assertion)) && (await otherOnUse(assertion, {})))
  })

  it('is found by the id of its response', () => {
    const assertion = AUTHENTICATORS.ES256.assert(SAID)
    assert.equal(credentialIdOf(assertion), AUTHENTICATORS.ES256.credentialId)
    for (const response of [
      undefined,
      null,
      '',
      [],
      {},
      { ...assertion, id: 'AAAA' },
      { ...assertion, rawId: 'x' },
    ])
      assert.equal(credentialIdOf(response), undefined)
  })
})

describe('a passkey that is refused', () => {
  const { register, assert: use } = AUTHENTICATORS.ES256
  const elsewhere = [
    ['wrong_origin', { origin: 'https://pay.example.org' }],
    ['wrong_origin', { origin: 'http://pay.example.com' }],
    ['wrong_origin', { origin: 'https://pay.example.com/' }],
    ['wrong_origin', { origin: 'https://pay.example.com.evil.example' }],
    ['wrong_challenge', { challenge: randomBytes(32).toString('base64url') }],
    ['wrong_challenge', { challenge: '' }],
    ['wrong_challenge', { challenge: `${CHALLENGE}=` }],
    ['wrong_rp_id', { rpId: 'example.com' }],
    ['wrong_type', { type: 'payment.get' }],
    ['cross_origin', { clientData: { crossOrigin: true } }],
    ['cross_origin', { clientData: { topOrigin: SITE.origin } }],
    ['malformed', { clientData: { challenge: 1 } }],
  ] as const

  it('was made for another origin, challenge, site or purpose, or in a frame', () => {
    for (const [reason, difference] of elsewhere) {
      const said = { ...SAID, ...difference }
      assert.deepEqual(verifyNew(register(said)), { refused: reason }, JSON.stringify(difference))
      assert.deepEqual(verifyUse(use(said)), { refused: reason }, JSON.stringify(difference))
    }
  })

  it('is a registration in place of an assertion, or the reverse', () => {
    assert.deepEqual(verifyNew(register({ ...SAID, type: 'webauthn.get' })), { refused: 'wrong_type' })
    assert.deepEqual(verifyUse(use({ ...SAID, type: 'webauthn.create' })), { refused: 'wrong_type' })
    assert.equal(reasonOf(verifyNew(use(SAID))), 'wrong_type')
    assert.equal(reasonOf(verifyUse(register(SAID))), 'wrong_type')
  })

  it('says that no person was present, or was not verified where that is required', () => {
    const flags = FLAGS.UP
    assert.deepEqual(verifyUse(use({ ...SAID, flags: FLAGS.UV })), { refused: 'user_not_present' })
    assert.deepEqual(verifyUse(use({ ...SAID, flags })), { refused: 'user_not_verified' })
    const preferred = { requireUserVerification: false }
    const unverified = { signCount: 0, isBackedUp: false, isUserVerified: false }
    assert.deepEqual(verifyUse(use({ ...SAID, flags }), preferred), unverified)
    const registration = register({ ...SAID, flags: flags | FLAGS.AT })
    assert.deepEqual(verifyNew(registration), { refused: 'user_not_verified' })
    const made = verifyNew(registration, preferred)
    assert.ok('isUserVerified' in made && !made.isUserVerified)
  })

  it('says that it is backed up although it cannot be', () => {
    const flags = FLAGS.UP | FLAGS.UV | FLAGS.BS
    assert.deepEqual(verifyUse(use({ ...SAID, flags })), { refused: 'inconsistent_backup_flags' })
    const registration = register({ ...SAID, flags: flags | FLAGS.AT })
    assert.deepEqual(verifyNew(registration), { refused: 'inconsistent_backup_flags' })
  })

  it('has a sign count that did not rise, unless both are zero', () => {
    const counted = (storedSignCount: number, signCount: number) =>
      reasonOf(verifyUse(use({ ...SAID, signCount }), { storedSignCount }))
    assert.equal(counted(0, 0), 'accepted')
    assert.equal(counted(0, 1), 'accepted')
    assert.equal(counted(5, 6), 'accepted')
    assert.equal(counted(5, 0xffff_ffff), 'accepted')
    for (const [stored, said] of [
      [1, 0],
      [5, 5],
      [5, 4],
      [0xffff_ffff, 1],
    ] as const)
      assert.equal(counted(stored, said), 'sign_count_did_not_rise')
    const forged = use({ ...SAID, signCount: 1 })
    forged.response.signature = use({ ...SAID, signCount: 9 }).response.signature
    assert.equal(reasonOf(verifyUse(forged, { storedSignCount: 5 })), 'wrong_signature')
  })

  it('was signed by another key, or belongs to another credential', () => {
    const other = createAuthenticator('ES256').assert(SAID)
    assert.deepEqual(verifyUse(other), { refused: 'wrong_credential' })
    const { id, rawId } = use(SAID)
    assert.deepEqual(verifyUse({ ...other, id, rawId }), { refused: 'wrong_signature' })
    const registration = register(SAID)
    assert.deepEqual(verifyNew({ ...registration, id: other.id, rawId: other.id }), {
      refused: 'wrong_credential',
    })
  })

  it('has an attestation that we did not ask for', () => {
    const refused = (attestationObject: Parameters<typeof register>[0]['attestationObject']) =>
      reasonOf(verifyNew(register({ ...SAID, attestationObject })))
    assert.equal(refused({ attStmt: { x: 1 } }), 'attestation_refused')
    for (const fmt of ['fido-u2f', 'tpm', 'android-key', 'apple', 'compound', '', 1])
      assert.equal(refused({ fmt }), 'attestation_refused', String(fmt))
    const sig = randomBytes(70)
    assert.equal(refused({ fmt: 'packed', attStmt: { alg: -7, sig } }), 'wrong_signature')
    assert.equal(refused({ fmt: 'packed', attStmt: { alg: -8, sig } }), 'attestation_refused')
    const x5c = [randomBytes(400)]
    assert.equal(refused({ fmt: 'packed', attStmt: { alg: -7, sig, x5c } }), 'attestation_refused')
    assert.equal(refused({ fmt: 'packed' }), 'attestation_refused')
  })

  it('has a key of another algorithm, curve, size or form', () => {
    const x = randomBytes(32)
    const es256 = { 1: 2, 3: -7, [-1]: 1, [-2]: x, [-3]: x }
    const rs256 = { 1: 3, 3: -257, [-1]: randomBytes(256).fill(0xff, 0, 1), [-2]: Buffer.from([1, 0, 1]) }
    const keys = {
      'a point off the curve': es256,
      'the algorithm ES384': { ...es256, 3: -35 },
      'no algorithm': { 1: 2, [-1]: 1, [-2]: x, [-3]: x },
      'the curve P-384': { ...es256, [-1]: 2 },
      'a short coordinate': { ...es256, [-2]: randomBytes(31) },
      'a compressed point': { ...es256, [-3]: true },
      'a parameter more': { ...es256, 4: 1 },
      'the key type of RSA': { ...es256, 1: 3 },
      'Ed25519 with the curve X25519': { 1: 1, 3: -8, [-1]: 4, [-2]: x },
      'RSA of 1024 bits': { ...rs256, [-1]: randomBytes(128).fill(0xff, 0, 1) },
      'RSA of 1024 bits after zeros': { ...rs256, [-1]: randomBytes(256).fill(0, 0, 128) },
      'RSA of 8192 bits': { ...rs256, [-1]: randomBytes(1024).fill(0xff, 0, 1) },
      'RSA with the exponent 3': { ...rs256, [-2]: Buffer.from([3]) },
    }
    for (const [name, key] of Object.entries(keys)) {
      const numbered = new Map(Object.entries(key).map(([label, value]) => [Number(label), value]))
      const registration = register({ ...SAID, publicKey: encodeCbor(numbered) })
      assert.deepEqual(verifyNew(registration), { refused: 'unsupported_key' }, name)
    }
    assert.deepEqual(verifyNew(register({ ...SAID, publicKey: encodeCbor([1]) })), { refused: 'malformed' })
  })

  it('is malformed: a field is missing, of another kind, empty or too long', () => {
    const kinds = [undefined, null, 0, true, '', '=', 'a b', [], {}, 'A'.repeat(100_000)]
    for (const [made, verify] of [
      [register(SAID), verifyNew],
      [use(SAID), verifyUse],
    ] as const) {
      for (const kind of kinds) {
        assert.deepEqual(verify(kind), { refused: 'malformed' })
        for (const field of ['id', 'rawId', 'type', 'response'])
          assert.deepEqual(verify({ ...made, [field]: kind }), { refused: 'malformed' }, `${field}: ${kind}`)
        for (const field of Object.keys(made.response)) {
          const response = { ...made.response, [field]: kind }
          assert.deepEqual(verify({ ...made, response }), { refused: 'malformed' }, `${field}: ${kind}`)
        }
      }
    }
  })

  it('is malformed: CBOR with a huge length, great depth, floats, tags, duplicates or trailing bytes', () => {
    const good = Buffer.from(register(SAID).response.attestationObject, 'base64url')
    const wrong: Record<string, Buffer> = {
      'a byte string of 2^64 - 1 bytes': Buffer.from('5bffffffffffffffff', 'hex'),
      'a map of 2^32 - 1 entries': Buffer.from('baffffffff', 'hex'),
      'an array of 2^32 - 1 items': Buffer.from('9affffffff', 'hex'),
      'a map of one entry more than there are': Buffer.concat([Buffer.from([0xa4]), good.subarray(1)]),
      'an indefinite map': Buffer.concat([Buffer.from([0xbf]), good.subarray(1), Buffer.from([0xff])]),
      'ten thousand arrays in each other': Buffer.alloc(10_000, 0x81),
      'arrays in each other beyond the depth, complete': Buffer.concat([
        Buffer.alloc(7, 0x81),
        Buffer.from([0]),
      ]),
      'a map whose key is a map': Buffer.from('a1a000', 'hex'),
      'a key twice': Buffer.from('a2616100616101', 'hex'),
      'a length that is not the shortest': Buffer.from('b803', 'hex'),
      'a float': Buffer.from('a16161fb3ff0000000000000', 'hex'),
      'a tag': Buffer.from('a16161c000', 'hex'),
      undefined: Buffer.from('a16161f7', 'hex'),
      'text that is not UTF-8': Buffer.from('a161ff00', 'hex'),
      'bytes after the map': Buffer.concat([good, Buffer.from([0])]),
      'nothing but a cut head': Buffer.from('b9ff', 'hex'),
    }
    for (const [name, bytes] of Object.entries(wrong)) {
      const registration = register(SAID)
      registration.response.attestationObject = bytes.toString('base64url')
      assert.deepEqual(verifyNew(registration), { refused: 'malformed' }, name)
    }
  })

  it('throws for a challenge that we should never have sent', () => {
    for (const challenge of ['', 'AAAA', 'not base64url!'])
      assert.throws(
        () =>
          verifyRegistration({ ...SITE, challenge, response: register(SAID), requireUserVerification: true }),
        /at least 16 bytes/,
      )
  })
})
