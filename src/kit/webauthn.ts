// Verifies passkeys (WebAuthn level 3, §7.1 and §7.2). Pure functions: the caller makes a challenge that is used once, stores
// the credential under an id that is unique over all users, and saves the new sign count.
//
// We ask for no attestation, and trust none. Two kinds of statement can still arrive: `none`, and a self attestation in
// the format `packed`, which clients pass on unchanged; its signature must be right. Every other format is refused: it
// would identify the authenticator's model, which we did not ask for and do not check.

import { hash } from 'node:crypto'
import { constantTimeEquals, fromBase64Url } from './crypto.ts'
import { type AuthenticatorData, readAuthenticatorData } from './webauthn/authenticator-data.ts'
import { type CborMap, readCborMap } from './webauthn/cbor.ts'
import { type PasskeyPublicKey, readPublicKey } from './webauthn/cose.ts'
import { type PasskeyRefusal, Refused } from './webauthn/refusal.ts'

/** What a response must be for. */
export interface PasskeyExpectation {
  /** The `toJSON()` of the browser's credential, parsed and otherwise unchecked. */
  response: unknown
  /** In base64url, as the page received it. */
  challenge: string
  /** Such as https://pay.example.com. */
  origin: string
  /** Such as pay.example.com. */
  rpId: string
  /** Whether a PIN or biometric check is required. If it is not, the result says whether there was one. */
  requireUserVerification: boolean
}

export interface NewPasskey {
  /** In base64url. */
  credentialId: string
  /** The COSE key. */
  publicKey: Buffer
  signCount: number
  isBackedUp: boolean
  isUserVerified: boolean
}

export interface PasskeyUse {
  signCount: number
  isBackedUp: boolean
  isUserVerified: boolean
}

export type RefusedPasskey = { refused: PasskeyRefusal }

export function verifyRegistration(expected: PasskeyExpectation): NewPasskey | RefusedPasskey {
  return catchRefusal(() => {
    const { id, response } = readCredential(expected.response)
    const clientData = checkClientData(response, 'webauthn.create', expected)
    const attestation = readCborMap(bytesOf(response, 'attestationObject', MAX_BYTES.attestationObject))
    const authData = attestation.get('authData')
    if (!Buffer.isBuffer(authData)) throw new Refused('malformed')
    const { attested, ...said } = checkAuthenticatorData(authData, expected)
    if (!attested) throw new Refused('malformed')
    if (!attested.credentialId.equals(id)) throw new Refused('wrong_credential')
    const publicKey = readPublicKey(attested.publicKey)
    checkAttestation(attestation, publicKey, signedData(authData, clientData))
    return {
      credentialId: id.toString('base64url'),
      // Copied: a part of the response would keep all of it in memory.
      publicKey: Buffer.from(attested.publicKey),
      signCount: said.signCount,
      isBackedUp: said.isBackedUp,
      isUserVerified: said.isUserVerified,
    }
  })
}

/** The parts of a stored passkey that an assertion is verified with. */
export interface StoredPasskey {
  credentialId: string
  publicKey: Uint8Array
  signCount: number
}

/** `sign_count_did_not_rise` is also a sign of a cloned authenticator: the caller reports it. */
export function verifyAssertion(
  expected: PasskeyExpectation & { credential: StoredPasskey },
): PasskeyUse | RefusedPasskey {
  const { credential } = expected
  return catchRefusal(() => {
    const { id, response } = readCredential(expected.response)
    if (id.toString('base64url') !== credential.credentialId) throw new Refused('wrong_credential')
    const clientData = checkClientData(response, 'webauthn.get', expected)
    const authData = bytesOf(response, 'authenticatorData', MAX_BYTES.authenticatorData)
    const { signCount, isBackedUp, isUserVerified } = checkAuthenticatorData(authData, expected)
    const signature = bytesOf(response, 'signature', MAX_BYTES.signature)
    const publicKey = readPublicKey(Buffer.from(credential.publicKey))
    if (!publicKey.isSignatureOf(signature, signedData(authData, clientData)))
      throw new Refused('wrong_signature')
    // After the signature: only the authenticator itself can report a wrong count. Synced passkeys always say 0.
    if ((signCount !== 0 || credential.signCount !== 0) && signCount <= credential.signCount)
      throw new Refused('sign_count_did_not_rise')
    return { signCount, isBackedUp, isUserVerified }
  })
}

/** The credential that a response names, to find the stored one before it is verified. */
export function credentialIdOf(response: unknown): string | undefined {
  const id = catchRefusal(() => readCredential(response).id)
  return Buffer.isBuffer(id) ? id.toString('base64url') : undefined
}

function catchRefusal<Result>(verify: () => Result): Result | RefusedPasskey {
  try {
    return verify()
  } catch (error) {
    if (error instanceof Refused) return { refused: error.reason }
    throw error
  }
}

// Several times what browsers send; a statement with certificates, which we refuse, is the largest.
const MAX_BYTES = {
  clientDataJSON: 4_096,
  attestationObject: 16_384,
  authenticatorData: 4_096,
  signature: 1_024,
}
// WebAuthn §4: at least 16 bytes, at most 1023.
const ID_BYTES = { least: 16, most: 1_023 }

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refused('malformed')
  // A boundary: every field is unknown, and checked where it is read.
  return value as Fields
}

function bytesOf(fields: Fields, name: string, maxBytes: number): Buffer {
  const text = fields[name]
  // Four characters hold three bytes; a longer text is not decoded at all.
  if (typeof text !== 'string' || text.length > Math.ceil((maxBytes * 4) / 3)) throw new Refused('malformed')
  const bytes = fromBase64Url(text)
  if (!bytes || bytes.length === 0) throw new Refused('malformed')
  return bytes
}

function readCredential(value: unknown): { id: Buffer; response: Fields } {
  const credential = fieldsOf(value)
  const id = bytesOf(credential, 'id', ID_BYTES.most)
  if (id.length < ID_BYTES.least || credential.rawId !== credential.id) throw new Refused('malformed')
  if (credential.type !== 'public-key') throw new Refused('malformed')
  return { id, response: fieldsOf(credential.response) }
}

/** What the browser says about the page. Returns the bytes, whose hash is signed. */
function checkClientData(
  response: Fields,
  type: 'webauthn.create' | 'webauthn.get',
  { challenge, origin }: PasskeyExpectation,
): Buffer {
  // An empty challenge would match an empty one; that is never the browser's fault.
  if ((fromBase64Url(challenge)?.length ?? 0) < 16) throw new Error('a challenge has at least 16 bytes')
  const bytes = bytesOf(response, 'clientDataJSON', MAX_BYTES.clientDataJSON)
  const said = fieldsOf(parseJson(bytes))
  if (said.type !== type) throw new Refused('wrong_type')
  if (typeof said.challenge !== 'string') throw new Refused('malformed')
  if (!constantTimeEquals(Buffer.from(said.challenge), Buffer.from(challenge)))
    throw new Refused('wrong_challenge')
  if (said.origin !== origin) throw new Refused('wrong_origin')
  // Our pages are never in a frame of another site.
  if ((said.crossOrigin ?? false) !== false || said.topOrigin !== undefined) throw new Refused('cross_origin')
  return bytes
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Refused('malformed')
  }
}

function checkAuthenticatorData(
  bytes: Buffer,
  { rpId, requireUserVerification }: PasskeyExpectation,
): AuthenticatorData {
  const said = readAuthenticatorData(bytes)
  if (!constantTimeEquals(said.rpIdHash, sha256(rpId))) throw new Refused('wrong_rp_id')
  if (!said.isUserPresent) throw new Refused('user_not_present')
  if (requireUserVerification && !said.isUserVerified) throw new Refused('user_not_verified')
  if (said.isBackedUp && !said.isBackupEligible) throw new Refused('inconsistent_backup_flags')
  return said
}

function checkAttestation(attestation: CborMap, publicKey: PasskeyPublicKey, data: Buffer): void {
  const statement = attestation.get('attStmt')
  if (!(statement instanceof Map)) throw new Refused('malformed')
  switch (attestation.get('fmt')) {
    case 'none':
      if (statement.size > 0) throw new Refused('attestation_refused')
      return
    case 'packed': {
      const signature = statement.get('sig')
      // A statement with certificates (x5c) has a third entry.
      if (statement.size !== 2 || statement.get('alg') !== publicKey.algorithm || !Buffer.isBuffer(signature))
        throw new Refused('attestation_refused')
      if (!publicKey.isSignatureOf(signature, data)) throw new Refused('wrong_signature')
      return
    }
    default:
      throw new Refused('attestation_refused')
  }
}

function signedData(authData: Buffer, clientData: Buffer): Buffer {
  return Buffer.concat([authData, sha256(clientData)])
}

function sha256(data: string | Buffer): Buffer {
  return hash('sha256', data, 'buffer')
}
