// What the authenticator says and signs (WebAuthn §6.1): for which site, whether a person was there, and the new key.

import { readCborItem } from './cbor.ts'
import { Refused } from './refusal.ts'

export interface AuthenticatorData {
  rpIdHash: Buffer
  isUserPresent: boolean
  isUserVerified: boolean
  isBackupEligible: boolean
  isBackedUp: boolean
  signCount: number
  /** The new credential; only a registration has one. */
  attested: { credentialId: Buffer; publicKey: Buffer } | undefined
}

const FLAGS = {
  userPresent: 0x01,
  userVerified: 0x04,
  backupEligible: 0x08,
  backedUp: 0x10,
  attested: 0x40,
  extensions: 0x80,
}
const HASH_BYTES = 32
const HEAD_BYTES = HASH_BYTES + 1 + 4
const AAGUID_BYTES = 16

export function readAuthenticatorData(bytes: Buffer): AuthenticatorData {
  if (bytes.length < HEAD_BYTES) throw new Refused('malformed')
  const flags = bytes.readUInt8(HASH_BYTES)
  const has = (flag: number) => (flags & flag) !== 0
  const attested = has(FLAGS.attested) ? readAttested(bytes) : undefined
  const attestedEnd = attested?.end ?? HEAD_BYTES
  const end = has(FLAGS.extensions) ? readExtensions(bytes, attestedEnd) : attestedEnd
  if (end !== bytes.length) throw new Refused('malformed')
  return {
    rpIdHash: bytes.subarray(0, HASH_BYTES),
    isUserPresent: has(FLAGS.userPresent),
    isUserVerified: has(FLAGS.userVerified),
    isBackupEligible: has(FLAGS.backupEligible),
    isBackedUp: has(FLAGS.backedUp),
    signCount: bytes.readUInt32BE(HASH_BYTES + 1),
    attested,
  }
}

function readAttested(bytes: Buffer): { credentialId: Buffer; publicKey: Buffer; end: number } {
  const lengthAt = HEAD_BYTES + AAGUID_BYTES
  const idAt = lengthAt + 2
  if (bytes.length < idAt) throw new Refused('malformed')
  const keyAt = idAt + bytes.readUInt16BE(lengthAt)
  if (bytes.length < keyAt) throw new Refused('malformed')
  const { end } = readCborItem(bytes, keyAt)
  return { credentialId: bytes.subarray(idAt, keyAt), publicKey: bytes.subarray(keyAt, end), end }
}

/** We ask for no extension; an authenticator may still add one, which is checked for its form and not used. */
function readExtensions(bytes: Buffer, start: number): number {
  const { value, end } = readCborItem(bytes, start)
  if (!(value instanceof Map)) throw new Refused('malformed')
  return end
}
