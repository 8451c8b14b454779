// The form of an API key: cowry_<mode>_<id>_<secret><check>. The prefix lets secret scanners find a leaked key, the
// check refuses a typo without asking the database, and underscores make a double click select the whole of it.

import { createHash } from 'node:crypto'
import { base62 } from '../core/ids.ts'
import type { Mode } from '../core/merchant.ts'
import { crc32, hmacSha256 } from '../kit/crypto.ts'
import type { Random } from '../kit/random.ts'

export interface ApiKey {
  mode: Mode
  /** Public: the name by which the key is looked up, listed and logged. */
  id: string
  secret: string
}

const ID_LENGTH = 12
const ID_BYTES = 9
// 43 base62 characters are the fewest that hold 256 bits.
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
 * The id of a key that is made under an Idempotency-Key: from the claim one can find the key again, and the id is as
 * random as the claim. It is no secret.
 */
export function keyIdOfClaim(claim: string): string {
  return keyIdOf(createHash('sha256').update(claim).digest().subarray(0, ID_BYTES))
}

function keyIdOf(bytes: Uint8Array): string {
  // Twelve base62 characters hold 71 bits: nine bytes less one bit.
  return base62(
    Uint8Array.from(bytes, (byte, index) => (index === 0 ? byte & 0x7f : byte)),
    ID_LENGTH,
  )
}

export function formatApiKey({ mode, id, secret }: ApiKey): string {
  const body = `cowry_${mode}_${id}_${secret}`
  return body + checkOf(body)
}

/** The parts of a well-formed key, or undefined when a character was lost, added or mistyped. */
export function parseApiKey(text: string): ApiKey | undefined {
  const [, body, mode, id, secret, check] = API_KEY.exec(text) ?? []
  if (!body || !id || !secret || checkOf(body) !== check) return undefined
  return { mode: mode === 'live' ? 'live' : 'test', id, secret }
}

/** The environment that a text claims to be a key of, whatever else is wrong with it. */
export function claimedMode(text: string): Mode | undefined {
  const mode = PREFIX.exec(text)?.[1]
  return mode === 'test' || mode === 'live' ? mode : undefined
}

/** What may be shown of a key after its creation. */
export function maskApiKey(mode: Mode, id: string): string {
  return `cowry_${mode}_${id}_…`
}

/**
 * What is stored of a secret. A fast keyed hash is right for 256 random bits: there is nothing to guess, and a slow one
 * would let anybody burn our processors.
 */
export function hashSecret(pepper: Uint8Array, secret: string): Buffer {
  return hmacSha256(pepper, secret)
}

function checkOf(body: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return base62(bytes, CHECK_LENGTH)
}
