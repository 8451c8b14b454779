// One-time codes of an authenticator app: RFC 6238 with SHA-1, 6 digits and steps of 30 seconds, which every app supports.

import { createHmac } from 'node:crypto'
import { constantTimeEquals } from './crypto.ts'
import type { Random } from './random.ts'

const STEP_MS = 30_000
const DIGITS = 6
// The clock of a phone may be a step away, and typing takes time (RFC 6238 §5.2).
const WINDOW_STEPS = 1
// The length of the hash, which RFC 4226 §4 recommends.
const SECRET_BYTES = 20

/** A secret of 160 bits, in base32 as apps and people read it. */
export function newTotpSecret(random: Random): string {
  return toBase32(random.bytes(SECRET_BYTES))
}

export interface TotpAttempt {
  /** In base32. */
  secret: string
  /** As typed; spaces are ignored. */
  code: string
  now: Date
  /** The counter of the last accepted code; null if there was none. */
  lastCounter: number | null
}

/**
 * The counter of the code, or null. The caller stores it with a compare-and-set before it grants anything: a code is used
 * once, so only counters above the last one are accepted (RFC 6238 §5.2).
 */
export function verifyTotp({ secret, code, now, lastCounter }: TotpAttempt): number | null {
  const key = fromBase32(secret)
  const typed = code.replaceAll(' ', '')
  if (!/^\d{6}$/.test(typed)) return null
  const current = Math.floor(now.getTime() / STEP_MS)
  let used: number | null = null
  // Every step is compared, so that the time does not depend on which one matches.
  for (let counter = current - WINDOW_STEPS; counter <= current + WINDOW_STEPS; counter += 1) {
    const isEqual = constantTimeEquals(Buffer.from(codeAt(key, counter)), Buffer.from(typed))
    const isUnused = lastCounter === null || counter > lastCounter
    if (isEqual && isUnused && counter >= 0) used = counter
  }
  return used
}

/** HOTP of RFC 4226 §5.3. */
function codeAt(key: Uint8Array, counter: number): string {
  const message = Buffer.alloc(8)
  message.writeBigInt64BE(BigInt(counter))
  const hash = createHmac('sha1', key).update(message).digest()
  const offset = hash.readUInt8(hash.length - 1) & 0x0f
  const number = hash.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** The address that authenticator apps read from a QR code. Spaces are %20: some apps show a plus sign as it is. */
export function totpUri({
  issuer,
  account,
  secret,
}: {
  issuer: string
  account: string
  secret: string
}): string {
  // A colon separates the two parts of the label.
  const [issuerPart, accountPart] = [issuer, account].map((part) =>
    encodeURIComponent(part.replaceAll(':', ' ')),
  )
  return (
    `otpauth://totp/${issuerPart}:${accountPart}?secret=${secret}&issuer=${issuerPart}` +
    `&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1_000}`
  )
}

// RFC 4648 §6, without padding.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function toBase32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    for (; bits >= 5; bits -= 5) text += ALPHABET[(value >>> (bits - 5)) & 31]
    value &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + ALPHABET[(value << (5 - bits)) & 31]
}

/** The secret is our own text: one that does not decode is our bug, or a row that was changed. */
function fromBase32(text: string): Buffer {
  const bytes: number[] = []
  let bits = 0
  let value = 0
  for (const character of text) {
    const digit = ALPHABET.indexOf(character)
    if (digit < 0) throw new Error('a TOTP secret is not base32')
    value = (value << 5) | digit
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((value >>> bits) & 255)
    value &= (1 << bits) - 1
  }
  if (bytes.length < 16) throw new Error('a TOTP secret has fewer than 128 bits')
  return Buffer.from(bytes)
}
