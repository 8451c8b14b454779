// Our ids are UUIDv7: they sort by time, so that indexes stay dense. Knowing an id grants no access. Only the id that
// a gateway receives for an attempt is a UUIDv4.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Strict: PostgreSQL also accepts braces and upper case, the API does not. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text)
}

// A call of Buffer for a few bytes costs more than the rest of an id.
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

function hexOf(bytes: Uint8Array, length: number, from = 0): string {
  if (bytes.length < length) throw new Error(`an id needs ${length} random bytes, not ${bytes.length}`)
  let hex = ''
  for (let index = from; index < length; index += 1) hex += HEX[bytes[index] ?? 0]
  return hex
}

/** The first digit of the fourth group has two random bits. */
const variantOf = (digit: string) => ((Number.parseInt(digit, 16) & 0x3) | 0x8).toString(16)

/** A UUIDv7 from a time and ten random bytes, of which it has 74 bits. */
export function uuidV7(now: Date, random: Uint8Array): string {
  const time = now.getTime().toString(16).padStart(12, '0')
  const hex = (index: number) => HEX[random[index] ?? 0] ?? ''
  const variant = HEX[((random[2] ?? 0) & 0x3f) | 0x80]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(0).charAt(0)}${hex(1)}-${variant}${hex(3)}-${hexOf(random, 10, 4)}`
}

/** The time of a UUIDv7, in milliseconds. */
export function uuidTime(uuid: string): Date {
  return new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16))
}

/** A UUIDv4 from sixteen random bytes. It does not reveal its time, and some gateways accept no other version. */
export function uuidV4(random: Uint8Array): string {
  const hex = hexOf(random, 16)
  const variant = variantOf(hex.charAt(16))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

// So many digits fit a number: a division of a BigInt costs more than all of them.
const DIGITS_AT_ONCE = 8
const DIVISOR = 62n ** BigInt(DIGITS_AT_ONCE)

/** The bytes as base62 text of a fixed length. Throws if they do not fit. */
export function base62(bytes: Uint8Array, length: number): string {
  const text = bytes.length <= BYTES_OF_NUMBER ? digitsOf(numberOf(bytes)) : digitsOfMany(bytes)
  if (text.length > length) throw new Error(`${bytes.length} bytes do not fit ${length} base62 characters`)
  return text.padStart(length, '0')
}

const BYTES_OF_NUMBER = 6
const numberOf = (bytes: Uint8Array) => bytes.reduce((number, byte) => number * 256 + byte, 0)

function digitsOfMany(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  while (rest > 0n) {
    const digits = digitsOf(Number(rest % DIVISOR))
    rest /= DIVISOR
    text = (rest > 0n ? digits.padStart(DIGITS_AT_ONCE, '0') : digits) + text
  }
  return text
}

function digitsOf(number: number): string {
  let text = ''
  for (let rest = number; rest > 0; rest = Math.floor(rest / 62)) text = BASE62.charAt(rest % 62) + text
  return text
}

const BASE36_LENGTH = 25
const BASE36_UUID = /^[0-9a-z]{25}$/
const MAX_UUID = 2n ** 128n

/**
 * A UUID in 25 characters, for providers whose references are too short for 36. Digits and lower-case letters only, because
 * some providers ignore case.
 */
export function uuidToBase36(uuid: string): string {
  if (!isUuid(uuid)) throw new Error('only a UUID can be written in base 36')
  return BigInt(`0x${uuid.replaceAll('-', '')}`)
    .toString(36)
    .padStart(BASE36_LENGTH, '0')
}

/** Undefined if the text is not a UUID in base 36. */
export function uuidFromBase36(text: string): string | undefined {
  if (!BASE36_UUID.test(text)) return undefined
  let value = 0n
  for (const digit of text) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  if (value >= MAX_UUID) return undefined
  const hex = value.toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
