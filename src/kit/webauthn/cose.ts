// Public keys of passkeys: COSE keys (RFC 9053) of the three algorithms that we offer to authenticators.

import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { type CborMap, readCborMap } from './cbor.ts'
import { Refused } from './refusal.ts'

const LABELS = { kty: 1, alg: 3, crv: -1, x: -2, y: -3, n: -1, e: -2 }

interface Algorithm {
  /** The COSE labels of the key, and no others: WebAuthn §5.8.5 allows no optional parameter. */
  labels: readonly number[]
  toJwk(key: CborMap): JsonWebKey
  /** The hash of the signed data; EdDSA has its own. */
  hash: 'sha256' | null
}

const ES256: Algorithm = {
  labels: [LABELS.kty, LABELS.alg, LABELS.crv, LABELS.x, LABELS.y],
  toJwk: (key) => {
    requireNumber(key, LABELS.kty, 2)
    requireNumber(key, LABELS.crv, 1)
    return { kty: 'EC', crv: 'P-256', x: bytesOf(key, LABELS.x, 32), y: bytesOf(key, LABELS.y, 32) }
  },
  hash: 'sha256',
}

const EDDSA: Algorithm = {
  labels: [LABELS.kty, LABELS.alg, LABELS.crv, LABELS.x],
  toJwk: (key) => {
    requireNumber(key, LABELS.kty, 1)
    requireNumber(key, LABELS.crv, 6)
    return { kty: 'OKP', crv: 'Ed25519', x: bytesOf(key, LABELS.x, 32) }
  },
  hash: null,
}

// Larger moduli cost more to verify, and no authenticator has them.
const RSA_BYTES = { least: 256, most: 512 }
const RSA_EXPONENT = 'AQAB'

const RS256: Algorithm = {
  labels: [LABELS.kty, LABELS.alg, LABELS.n, LABELS.e],
  toJwk: (key) => {
    requireNumber(key, LABELS.kty, 3)
    if (bytesOf(key, LABELS.e, 3) !== RSA_EXPONENT) throw new Refused('unsupported_key')
    return { kty: 'RSA', n: bytesOf(key, LABELS.n, RSA_BYTES.least, RSA_BYTES.most), e: RSA_EXPONENT }
  },
  hash: 'sha256',
}

/** By their COSE numbers. */
const PASSKEY_ALGORITHMS: ReadonlyMap<number, Algorithm> = new Map([
  [-8, EDDSA],
  [-7, ES256],
  [-257, RS256],
])

export interface PasskeyPublicKey {
  /** The COSE number of the algorithm. */
  algorithm: number
  isSignatureOf(signature: Buffer, data: Buffer): boolean
}

export function readPublicKey(coseBytes: Buffer): PasskeyPublicKey {
  const cose = readCborMap(coseBytes)
  const number = cose.get(LABELS.alg)
  const algorithm = typeof number === 'number' ? PASSKEY_ALGORITHMS.get(number) : undefined
  if (typeof number !== 'number' || !algorithm) throw new Refused('unsupported_key')
  if (cose.size !== algorithm.labels.length || !algorithm.labels.every((label) => cose.has(label)))
    throw new Refused('unsupported_key')
  const key = importKey(algorithm.toJwk(cose))
  return {
    algorithm: number,
    isSignatureOf: (signature, data) => verify(algorithm.hash, data, key, signature),
  }
}

/** OpenSSL refuses a point that is not on its curve. */
function importKey(jwk: JsonWebKey): KeyObject {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    throw new Refused('unsupported_key')
  }
}

function requireNumber(key: CborMap, label: number, wanted: number): void {
  if (key.get(label) !== wanted) throw new Refused('unsupported_key')
}

/** As base64url, without leading zero bytes if the length is not fixed: they would hide a short modulus. */
function bytesOf(key: CborMap, label: number, least: number, most = least): string {
  const bytes = key.get(label)
  if (!Buffer.isBuffer(bytes) || bytes.length < least || bytes.length > most)
    throw new Refused('unsupported_key')
  if (most > least && bytes.readUInt8(0) < 0x80) throw new Refused('unsupported_key')
  return bytes.toString('base64url')
}
