// Verdicts on passkeys, ours and those of @simplewebauthn/server, for a thousand responses that were changed.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  ALGORITHMS,
  type AlgorithmName,
  type AssertionJson,
  encodeCbor,
  FLAGS,
  type RegistrationJson,
} from '../../../test/support/authenticator.ts'
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
} from '../../../test/support/passkeys.ts'

type Change = (made: RegistrationJson | AssertionJson) => unknown

/** A change to one of the encoded fields of the response. */
function changeField(change: (bytes: Buffer) => Buffer, index: number): Change {
  return (made) => {
    const [field = '', text = ''] =
      Object.entries(made.response)[index % Object.keys(made.response).length] ?? []
    const changed = change(Buffer.from(text, 'base64url')).toString('base64url')
    return { ...made, response: { ...made.response, [field]: changed } }
  }
}

const flip = (at: number, bits: number) => (bytes: Buffer) => {
  const changed = Buffer.from(bytes)
  const index = at % changed.length
  changed.writeUInt8(changed.readUInt8(index) ^ bits, index)
  return changed
}

const omit = (object: object, index: number) => {
  const entries = Object.entries(object)
  return Object.fromEntries(entries.filter((_, each) => each !== index % entries.length))
}

const CHANGES = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Change>((made) => made) },
  {
    weight: 10,
    arbitrary: fc
      .record({ field: fc.nat(2), at: fc.nat(), bits: fc.integer({ min: 1, max: 255 }) })
      .map(({ field, at, bits }) => changeField(flip(at, bits), field)),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ field: fc.nat(2), keep: fc.nat(400) })
      .map(({ field, keep }) => changeField((bytes) => bytes.subarray(0, keep % bytes.length), field)),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ field: fc.nat(2), more: fc.uint8Array({ minLength: 1, maxLength: 40 }) })
      .map(({ field, more }) => changeField((bytes) => Buffer.concat([bytes, more]), field)),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ field: fc.nat(2), bytes: fc.uint8Array({ maxLength: 300 }) })
      .map(({ field, bytes }) => changeField(() => Buffer.from(bytes), field)),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        '5bffffffffffffffff',
        'baffffffff',
        '9affffffff',
        'bf',
        '81'.repeat(9_000),
        'a1'.repeat(9_000),
      )
      .map((hex) => changeField(() => Buffer.from(hex, 'hex'), 1)),
  },
  {
    weight: 1,
    arbitrary: fc.nat().map(
      (index): Change =>
        (made) =>
          omit(made, index),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat().map(
      (index): Change =>
        (made) => ({ ...made, response: omit(made.response, index) }),
    ),
  },
)

// What the authenticator says differently, with a right signature.
const SPEECH = fc.record(
  {
    origin: fc.constantFrom(SITE.origin, 'https://evil.example', 'https://pay.example.com:8443'),
    challenge: fc.constantFrom(CHALLENGE, CHALLENGE.slice(1), ''),
    rpId: fc.constantFrom(SITE.rpId, 'example.com', 'evil.example'),
    type: fc.constantFrom('webauthn.create', 'webauthn.get'),
    signCount: fc.constantFrom(0, 1, 5, 6, 0xffff_ffff),
    flags: fc.integer({ min: 0, max: 255 }),
  },
  { requiredKeys: [] },
)

/** Where we refuse what the other verifier accepts. At a registration it checks none of these. */
const STRICTER_ON_NEW = {
  wrong_credential: 'the id beside the response is not the one that the authenticator made',
  unsupported_key: 'the new key cannot be used: it does not look at it before the first assertion',
  malformed: 'bytes after the attestation object, or lengths beyond its end',
}

/** An ES256 signature of the same numbers that is not DER: with bytes after it, or another tag. It reads BER. */
const isOtherSpelling = (made: AssertionJson, { response }: AssertionJson, algorithm: AlgorithmName) =>
  algorithm === 'ES256' &&
  response.authenticatorData === made.response.authenticatorData &&
  response.clientDataJSON === made.response.clientDataJSON

describe('two verifiers of passkeys', () => {
  const cases = fc.record({
    algorithm: fc.constantFrom(...ALGORITHMS),
    isRegistration: fc.boolean(),
    speech: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 2, arbitrary: SPEECH }),
    change: CHANGES,
    requireUserVerification: fc.boolean(),
    storedSignCount: fc.constantFrom(0, 5),
  })
  type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never

  it('agree on a thousand responses that were changed: we accept nothing that the other one refuses', async () => {
    const verdicts = { both: 0, neither: 0, stricter: 0 }
    const count = (ours: object, theirs: object | undefined, isStricter: (reason: string) => boolean) => {
      const reason = String(reasonOf(ours))
      if (reason === 'accepted') assert.ok(theirs, 'the other verifier refuses what we accept')
      else if (theirs) assert.ok(isStricter(reason), `only we refuse: ${reason}`)
      verdicts[reason === 'accepted' ? 'both' : theirs ? 'stricter' : 'neither'] += 1
    }
    const check = async ({ isRegistration, speech, change, ...options }: Case) => {
      const authenticator = AUTHENTICATORS[options.algorithm]
      const said = { ...SAID, ...speech }
      // A boundary: the other verifier declares what a response has, and a changed one may have anything.
      if (isRegistration) {
        const response = change(authenticator.register(said)) as RegistrationJson
        const ours = verifyNew(response, options)
        const theirs = await otherOnNew(response, options)
        count(ours, theirs, (reason) => Object.hasOwn(STRICTER_ON_NEW, reason))
        if ('refused' in ours || !theirs) return
        const { id, publicKey, counter } = theirs.credential
        assert.deepEqual(ours, {
          credentialId: id,
          publicKey: Buffer.from(publicKey),
          signCount: counter,
          isBackedUp: theirs.credentialBackedUp,
          isUserVerified: theirs.userVerified,
        })
      } else {
        const made = authenticator.assert(said)
        const response = change(made) as AssertionJson
        const ours = verifyUse(response, options)
        const theirs = await otherOnUse(response, options)
        count(
          ours,
          theirs,
          (reason) => reason === 'wrong_signature' && isOtherSpelling(made, response, options.algorithm),
        )
        if ('refused' in ours || !theirs) return
        assert.deepEqual(ours, {
          signCount: theirs.newCounter,
          isBackedUp: theirs.credentialBackedUp,
          isUserVerified: theirs.userVerified,
        })
      }
    }
    await fc.assert(fc.asyncProperty(cases, check), { numRuns: 1_000 })
    // The responses are of all kinds, so that the agreement says something.
    assert.ok(verdicts.both >= 20, `${verdicts.both} accepted`)
    assert.ok(verdicts.neither >= 700, `${verdicts.neither} refused by both`)
  })

  it('agree on every value of the flags', async () => {
    for (let flags = 0; flags < 256; flags += 1)
      for (const requireUserVerification of [true, false]) {
        const options = { requireUserVerification, algorithm: 'EdDSA' as const }
        const extensions = flags & FLAGS.ED ? encodeCbor({}) : undefined
        const registration = AUTHENTICATORS.EdDSA.register({ ...SAID, flags, extensions })
        const assertion = AUTHENTICATORS.EdDSA.assert({ ...SAID, flags, extensions })
        const name = `flags ${flags}`
        assert.equal(
          isAccepted(verifyNew(registration, options)),
          Boolean(await otherOnNew(registration, options)),
          name,
        )
        assert.equal(
          isAccepted(verifyUse(assertion, options)),
          Boolean(await otherOnUse(assertion, options)),
          name,
        )
      }
  })

  it('refuse an assertion in which any byte was changed', async () => {
    const assertion = AUTHENTICATORS.EdDSA.assert(SAID)
    for (const [index, text] of Object.values(assertion.response).entries()) {
      const { length } = Buffer.from(text, 'base64url')
      for (let at = 0; at < length; at += 1) {
        const changed = changeField(flip(at, 1), index)(assertion) as AssertionJson
        const options = { algorithm: 'EdDSA' } as const
        assert.ok(!isAccepted(verifyUse(changed, options)), `field ${index}, byte ${at}`)
        assert.equal(await otherOnUse(changed, options), undefined, `field ${index}, byte ${at}`)
      }
    }
  })
})
