// No page or field of ours takes a card number. We scan free text for card numbers that people enter by mistake.

import { ApiError, newIssue } from './errors.ts'

// First digits of the card schemes: Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Maestro, Verve.
// A number without such a prefix is not a card number, but for example an order number.
const KNOWN_PREFIX = /^(4|5[0-8]|3[4-9]|30|6|35)/
// The second range of Mastercard. Its cards have 16 digits; many phone numbers begin with the same digits.
const MASTERCARD_2_SERIES = /^2[2-7]\d{14}$/

const MIN_DIGITS = 13
const MAX_DIGITS = 19

// People write a card number in groups of digits. A single space or dash may separate groups of any length, because an
// order number or an expiry date may precede the card.
const GROUPS = /\d+(?:(?:\s|[.\-‐‑‒–—·•]){1,3}\d+)*/gu
const GROUP = /(\d+)([^\d]*)/gu

// About one random UUID in 850 contains the digits of a card number. A card number has no letters, so a UUID with a letter
// is not searched.
const UUID = /\b(?=[\d-]{0,35}[a-f])[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/giu

interface Group {
  digits: string
  /** Whether the separator after it is a single space or dash. */
  isPlain: boolean
}

/** Rejects card numbers in the texts of a request, by field, because we must not store one. */
export function assertNoCardNumbers(texts: Readonly<Record<string, string | null | undefined>>): void {
  const details = Object.entries(texts)
    .filter(([, text]) => text != null && containsCardNumber(text))
    .map(([field]) => newIssue(field, 'card_data_not_allowed'))
  if (details.length > 0) throw new ApiError('card_data_not_allowed', { details })
}

// Most texts end here: all ASCII, with fewer digits than any card number.
const PLAIN = /^[\0-\x7f]*$/
const ENOUGH_DIGITS = new RegExp(`(?:\\d\\D*){${MIN_DIGITS}}`)

export function containsCardNumber(text: string): boolean {
  const isPlain = PLAIN.test(text)
  if (isPlain && !ENOUGH_DIGITS.test(text)) return false
  const withoutIds = (isPlain ? text : withPlainDigits(text)).replaceAll(UUID, 'id')
  return [...withoutIds.matchAll(GROUPS)].some(([run]) => hasCardNumber(groupsOf(run)))
}

/** With the digits of every script as ASCII digits, and without characters that are invisible. */
function withPlainDigits(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/[^\P{Nd}0-9]/gu, (digit) => String(digitValue(digit)))
}

/** Unicode places the ten digits of a script at code points that end in 0 to 9, or in 6 to F. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  const last = code % 16
  const startsAtZero = /\p{Nd}/u.test(String.fromCodePoint(code - last))
  return startsAtZero ? last : last - 6
}

function groupsOf(run: string): Group[] {
  return [...run.matchAll(GROUP)].map(([, digits = '', separator = '']) => ({
    digits,
    isPlain: separator === ' ' || separator === '-',
  }))
}

/** Tries every run of neighbouring groups, because an order number or an expiry date often precedes or follows the card. */
function hasCardNumber(groups: readonly Group[]): boolean {
  return groups.some((_, start) => {
    let digits = ''
    let isPlain = true
    let isEven = true
    for (const group of groups.slice(start)) {
      digits += group.digits
      isEven &&= isCardGroup(group.digits)
      if (digits.length > MAX_DIGITS) return false
      if ((isPlain || isEven) && isCardNumber(digits)) return true
      isPlain &&= group.isPlain
    }
    return false
  })
}

/** Cards print groups of four to six digits, the last of three or more; dates and amounts have shorter ones. */
function isCardGroup(digits: string): boolean {
  return digits.length >= 3 && digits.length <= 7
}

function isCardNumber(digits: string): boolean {
  if (digits.length < MIN_DIGITS) return false
  return (KNOWN_PREFIX.test(digits) || MASTERCARD_2_SERIES.test(digits)) && passesLuhn(digits)
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits.charAt(digits.length - 1 - index))
    const doubled = index % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
