// Parses phone numbers as payers write them, by the world's numbering plans, and formats them as is usual in their
// country. Only mobile numbers are accepted: a fixed line cannot approve a payment.

import parsePhoneNumber, {
  type CountryCode,
  getCountryCallingCode,
  getExampleNumber,
  isSupportedCountry,
  type PhoneNumber,
} from 'libphonenumber-js/mobile'
import EXAMPLES from 'libphonenumber-js/mobile/examples'

export interface Phone {
  e164: string
  /** Grouped as people write it, such as 0712 345 678; a number from abroad with its country's code. */
  national: string
  /** The country of the number, as far as its digits show. */
  country: string | null
}

const MAX_DIGITS = 15
// Twice the longest number leaves room for any grouping.
const MAX_TEXT = 40

// The zeros of the digits that keyboards of the served countries type; NFKC has converted full-width digits before.
// Ethiopic numerals have no zero and no positions, so they cannot write a phone number.
const ZEROS = [0x0660, 0x06f0, 0x0966, 0x09e6]

// Marks that a contact list adds around a number in right-to-left text.
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const SEPARATORS = /[\s\p{Pd}\u2212.·/()[\]]/gu

/**
 * The mobile number that a payer of a country meant, or undefined. A number from abroad must be written with its
 * country's code; where no country is known, every number must.
 */
export function readPhone(text: string, country: string | null): Phone | undefined {
  const home = knownCountry(country)
  const digits = plainDigits(text)
  if (digits === undefined) return undefined
  const isInternational = digits.startsWith('+')
  if (!isInternational && home === undefined) return undefined
  const number = parsePhoneNumber(digits, isInternational ? undefined : home)
  if (!number?.isValid()) return undefined
  const isForeign = home === undefined || getCountryCallingCode(home) !== number.countryCallingCode
  return {
    e164: number.number,
    national: isForeign ? grouped(number.formatInternational()) : nationalOf(number),
    country: number.country ?? null,
  }
}

const SHORTEST_NUMBER = 7

/**
 * The numbers in E.164 that a whole number may be, as people read it out: with the code of its country, or as it is
 * dialled in one of these countries. Empty for any other text.
 */
export function possibleNumbers(text: string, countries: readonly string[]): string[] {
  const digits = plainDigits(text)
  const length = digits?.replace('+', '').length ?? 0
  if (digits === undefined || length < SHORTEST_NUMBER || length > MAX_DIGITS) return []
  if (digits.startsWith('+')) return [digits]
  const national = digits.replace(/^0/, '')
  const homes = countries.map(knownCountry).filter((country) => country !== undefined)
  return [`+${digits}`, ...new Set(homes.map((country) => `+${getCountryCallingCode(country)}${national}`))]
}

/**
 * Why a text is not a mobile number of the country. foreign: of another country. without_code: where no country is given,
 * a number begins with the code of its country.
 */
const PHONE_PROBLEMS = [
  'missing',
  'not_a_number',
  'too_short',
  'too_long',
  'not_mobile',
  'foreign',
  'without_code',
] as const

export type PhoneProblem = (typeof PHONE_PROBLEMS)[number]

export function isPhoneProblem(text: string | undefined): text is PhoneProblem {
  return PHONE_PROBLEMS.some((one) => one === text)
}

/** Undefined if it is a mobile number of the country, or of any country where none is given. */
export function phoneProblem(text: string, country: string | null): PhoneProblem | undefined {
  if (!/\S/u.test(text)) return 'missing'
  const digits = plainDigits(text)
  if (digits === undefined) return 'not_a_number'
  const home = knownCountry(country)
  const isForeign =
    digits.startsWith('+') && home !== undefined && !digits.startsWith(`+${getCountryCallingCode(home)}`)
  if (isForeign) return 'foreign'
  const phone = readPhone(text, country)
  if (phone) return home !== undefined && phone.country !== home ? 'foreign' : undefined
  if (!digits.startsWith('+') && home === undefined) return 'without_code'
  return lengthProblem(digits, home) ?? 'not_mobile'
}

/** By the length of an example, because a fixed line may have fewer digits than a mobile number. */
function lengthProblem(digits: string, home: CountryCode | undefined): 'too_short' | 'too_long' | undefined {
  const number = parsePhoneNumber(digits, home)
  if (!number) return digits.length > MAX_DIGITS ? 'too_long' : 'too_short'
  const country = number.country ?? home
  const example = country && getExampleNumber(country, EXAMPLES)?.nationalNumber
  if (!example) return undefined
  const difference = number.nationalNumber.length - example.length
  return difference < 0 ? 'too_short' : difference > 0 ? 'too_long' : undefined
}

/** Enough for the owner to recognise the number, too little for others: 0712 ••• 678. */
export function maskPhone(e164: string): string {
  const number = parsePhoneNumber(e164)
  return mask(number ? nationalOf(number) : e164.replace(/\D/g, ''))
}

/** A fictitious number, written as is usual in the country. */
export function examplePhone(country: string | null): string | null {
  const home = knownCountry(country)
  const example = home && getExampleNumber(home, EXAMPLES)
  return example ? nationalOf(example) : null
}

/** The calling code, such as +254; null where no numbering plan is known. */
export function callingCode(country: string): string | null {
  const known = knownCountry(country)
  return known ? `+${getCountryCallingCode(known)}` : null
}

function knownCountry(country: string | null): CountryCode | undefined {
  return country !== null && isSupportedCountry(country) ? country : undefined
}

/** Digits with a leading + if the number has a calling code; undefined if the text is no number. */
function plainDigits(text: string): string | undefined {
  if (text.length > MAX_TEXT) return undefined
  const plain = [...text.normalize('NFKC').replace(DIRECTION_MARKS, '').replace(SEPARATORS, '')]
    .map(asciiDigit)
    .join('')
  if (!/^\+?\d+$/.test(plain)) return undefined
  // 00 is accepted everywhere, also where the network itself uses 000 or 009 as its international prefix.
  return plain.replace(/^0{2,3}(?=[1-9])/, '+')
}

function asciiDigit(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const zero = ZEROS.find((first) => code >= first && code <= first + 9)
  return zero === undefined ? character : String(code - zero)
}

function nationalOf(number: PhoneNumber): string {
  return grouped(number.formatNational())
}

/** Groups separated by spaces, each short enough to be read aloud. */
function grouped(formatted: string): string {
  const [first = '', ...rest] = formatted
    .replace(/[^\d+]+/g, ' ')
    .trim()
    .split(' ')
  return [first, ...rest.flatMap(splitGroup)].join(' ')
}

function splitGroup(group: string): string[] {
  if (group.length < 6) return [group]
  const half = Math.floor(group.length / 2)
  return [group.slice(0, half), group.slice(half)]
}

const SHOWN_AT_START = 4
const SHOWN_AT_END = 3
const HIDDEN_AT_LEAST = 3

function mask(national: string): string {
  const total = national.replace(/\D/g, '').length
  const first = national.split(' ')[0] ?? ''
  const start = Math.min(first.length, SHOWN_AT_START, total - SHOWN_AT_END - HIDDEN_AT_LEAST)
  let position = 0
  return national.replace(/\d/g, (digit) => {
    const isShown = position < start || position >= total - SHOWN_AT_END
    position += 1
    return isShown ? digit : '•'
  })
}
