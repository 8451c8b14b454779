// The format of an API key: cowry_<mode>_<id>_<secret><checksum>. Secret scanners find a leaked key by its prefix, the
// checksum rejects a typo without a database read, and with underscores a double click selects the whole key.

import { createHash } from 'node:crypto'
import { base62 } from '../core/ids.ts'
import type { Mode } from '../core/merchant.ts'
import { crc32, hmacSha256 } from '../kit/crypto.ts'
import type { Random } from '../kit/random.ts'

export interface ApiKey {
  mode: Mode
  /** Public: used to look up, list and log the key. */
  id: string
  secret: string
}

const ID_LENGTH = 12
const ID_BYTES = 9
// 256 bits need at least 43 base62 characters.
const SECRET_BYTES = 32
const SECRET_LENGTH = 43
const CHECK_LENGTH = 6

const API_KEY = /^(cowry_(test|live)_([0-9A-Za-z]{12})_([0-9A-Za-z]{43}))([0-9A-Za-z]{6})$/
const PREFIX = /^cowry_(test|live)_/

export function generateApiKey(
  mode: Mode,
  random: Random,
  id: string = keyIdOf(random.bytes(ID_BYTES)),
): ApiKey {
  return { mode, id, secret: base62(random.bytes(SECRET_BYTES), SECRET_LENGTH) }
}

/**
 * The id of a key that is created under an Idempotency-Key. It follows from the claim, so a replay finds the key again. The id
 * is as random as the claim, and it is not secret.
 */
export function keyIdOfClaim(claim: string): string {
  return keyIdOf(createHash('sha256').update(claim).digest().subarray(0, ID_BYTES))
}

function keyIdOf(bytes: Uint8Array): string {
  // Twelve base62 characters hold 71 bits: nine bytes minus one bit.
  return base62(
    Uint8Array.from(bytes, (byte, index) => (index === 0 ? byte & 0x7f : byte)),
    ID_LENGTH,
  )
}

export function formatApiKey({ mode, id, secret }: ApiKey): string {
  const body = `cowry_${mode}_${id}_${secret}`
  return body + checkOf(body)
}

/** The parts of a well-formed key; undefined if the checksum does not match. */
export function parseApiKey(text: string): ApiKey | undefined {
  const [, body, mode, id, secret, check] = API_KEY.exec(text) ?? []
  if (!body || !id || !secret || checkOf(body) !== check) return undefined
  return { mode: mode === 'live' ? 'live' : 'test', id, secret }
}

/** The mode that the prefix claims, even if the rest of the key is malformed. */
export function claimedMode(text: string): Mode | undefined {
  const mode = PREFIX.exec(text)?.[1]
  return mode === 'test' || mode === 'live' ? mode : undefined
}

/** The part of a key that may be shown after its creation. */
export function maskApiKey(mode: Mode, id: string): string {
  return `cowry_${mode}_${id}_…`
}

/**
 * The stored form of a secret. A fast keyed hash is enough for 256 random bits, which cannot be guessed. A slow hash would let
 * unauthenticated callers exhaust the CPU.
 */
export function hashSecret(pepper: Uint8Array, secret: string): Buffer {
  return hmacSha256(pepper, secret)
}

function checkOf(body: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return base62(bytes, CHECK_LENGTH)
}
