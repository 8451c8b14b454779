// The number on a payer's receipt: twelve characters in three groups, such as 2WNM-9JV6-5HV2, that people can read aloud.
// It is derived from the payment's UUIDv7, so a payment is found by it without an index: the milliseconds of the id give
// the range, and its last three digits tell payments of one millisecond apart. The last character is a check.

/** Without 0 O 1 I L, and without S and B, which look like 5 and 8. The length, 29, is prime. */
const ALPHABET = '23456789ACDEFGHJKMNPQRTUVWXYZ'
const BASE = ALPHABET.length
const LENGTH = 11
const GROUP = 4

// 2024-01-01: with 40 bits of milliseconds the codes repeat from 2058 on.
const EPOCH_MS = 1_704_067_200_000n
const TAIL_BITS = 12n
const TAIL_MASK = (1n << TAIL_BITS) - 1n
const MS_BITS = 40

export function receiptCodeOf(paymentId: string): string {
  const bits = BigInt(`0x${paymentId.replaceAll('-', '')}`)
  const ms = BigInt.asUintN(MS_BITS, (bits >> 80n) - EPOCH_MS)
  const digits = toDigits((ms << TAIL_BITS) | (bits & TAIL_MASK))
  const text = [...digits, checkOf(digits)].map((digit) => ALPHABET[digit]).join('')
  return text.replace(/.{4}(?=.)/g, '$&-')
}

/** Where the id of the payment is: from `first` to `last`, both included, and with this end. */
interface ReceiptTarget {
  first: string
  last: string
  /** The last three digits of the id. */
  tail: string
}

/** What a typed code means; undefined if it is none, or mistyped. */
export function readReceiptCode(text: string): ReceiptTarget | undefined {
  const plain = text.toUpperCase().replaceAll(/[\s-]/g, '')
  const digits = Array.from(plain, (character) => ALPHABET.indexOf(character))
  if (plain.length !== GROUP * 3 || digits.includes(-1)) return undefined
  const check = digits.pop()
  if (check !== checkOf(digits)) return undefined
  const value = digits.reduce((sum, digit) => sum * BigInt(BASE) + BigInt(digit), 0n)
  if (BigInt.asUintN(MS_BITS, value >> TAIL_BITS) !== value >> TAIL_BITS) return undefined
  const ms = (value >> TAIL_BITS) + EPOCH_MS
  return {
    first: toUuid(ms << 80n),
    last: toUuid(((ms + 1n) << 80n) - 1n),
    tail: (value & TAIL_MASK).toString(16).padStart(3, '0'),
  }
}

function toDigits(value: bigint): number[] {
  const digits: number[] = []
  for (let left = value; digits.length < LENGTH; left /= BigInt(BASE))
    digits.unshift(Number(left % BigInt(BASE)))
  return digits
}

/** Weights from 1 to 11 modulo a prime: every single mistake and every swap of two characters changes the sum. */
function checkOf(digits: readonly number[]): number {
  return digits.reduce((sum, digit, index) => sum + digit * (index + 1), 0) % BASE
}

function toUuid(bits: bigint): string {
  const hex = bits.toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
