// Identifiers are UUIDv7: sortable by time, so that indexes stay dense, and never a capability by themselves. Only what
// providers know an attempt by is a UUIDv4.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Strict on purpose: PostgreSQL also takes braces and upper case, the API does not. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text)
}

/** A UUIDv7 from a time and ten random bytes. */
export function uuidV7(now: Date, random: Uint8Array): string {
  const hex = Buffer.from(random.subarray(0, 10)).toString('hex')
  const time = now.getTime().toString(16).padStart(12, '0')
  const variant = ((Number.parseInt(hex.slice(3, 4), 16) & 0x3) | 0x8).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`
}

/** A UUIDv4 from sixteen random bytes: says nothing about its time, and some providers take no other. */
export function uuidV4(random: Uint8Array): string {
  const hex = Buffer.from(random.subarray(0, 16)).toString('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Bytes as base62 text of a fixed length; the length must be able to hold them. */
export function base62(bytes: Uint8Array, length: number): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`)
  let text = ''
  while (rest > 0n) {
    text = BASE62.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  if (text.length > length) throw new Error(`${bytes.length} bytes do not fit ${length} base62 characters`)
  return text.padStart(length, '0')
}
