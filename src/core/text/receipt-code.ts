// The number on a payer's receipt: twelve characters in three groups, such as 2WNM-9JV6-5HV2, that people can read aloud.
// It is derived from the payment's UUIDv7, so a payment is found by it without an index: the milliseconds of the id give
// the range, and its last three digits tell payments of one millisecond apart. The last character is a check.

import { uuidTime } from '../ids.ts'

/** Without 0 O 1 I L, and without S and B, which look like 5 and 8. The length, 29, is prime. */
const ALPHABET = '23456789ACDEFGHJKMNPQRTUVWXYZ'
const BASE = ALPHABET.length
const LENGTH = 11
const GROUP = 4

// 2024-01-01: with 40 bits of milliseconds the codes repeat from 2058 on.
const EPOCH_MS = 1_704_067_200_000
const MS_BITS = 40
const TAIL_BITS = 12n
const TAIL_MASK = (1n << TAIL_BITS) - 1n
const TAIL_DIGITS = 3

export function receiptCodeOf(paymentId: string): string {
  const tail = paymentId.slice(-TAIL_DIGITS)
  const ms = modulo(uuidTime(paymentId).getTime() - EPOCH_MS, 2 ** MS_BITS)
  // 52 bits, which a number holds exactly.
  const digits = toDigits(ms * 16 ** TAIL_DIGITS + Number.parseInt(tail, 16))
  let text = ''
  for (const digit of digits) text += ALPHABET.charAt(digit)
  text += ALPHABET.charAt(checkOf(digits))
  return `${text.slice(0, GROUP)}-${text.slice(GROUP, 2 * GROUP)}-${text.slice(2 * GROUP)}`
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
  const ms = (value >> TAIL_BITS) + BigInt(EPOCH_MS)
  return {
    first: toUuid(ms << 80n),
    last: toUuid(((ms + 1n) << 80n) - 1n),
    tail: (value & TAIL_MASK).toString(16).padStart(TAIL_DIGITS, '0'),
  }
}

function toDigits(value: number): number[] {
  const digits: number[] = []
  for (let left = value; digits.length < LENGTH; left = Math.floor(left / BASE)) digits.push(left % BASE)
  return digits.reverse()
}

const modulo = (value: number, divisor: number) => ((value % divisor) + divisor) % divisor

/** Weights from 1 to 11 modulo a prime: every single mistake and every swap of two characters changes the sum. */
function checkOf(digits: readonly number[]): number {
  return digits.reduce((sum, digit, index) => sum + digit * (index + 1), 0) % BASE
}

function toUuid(bits: bigint): string {
  const hex = bits.toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
