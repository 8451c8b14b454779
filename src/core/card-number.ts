// No page or field of ours takes a card number. We scan free text for card numbers that people enter by mistake.

// First digits of the card schemes: Visa, Mastercard (two ranges), American Express, Diners, Discover, JCB, UnionPay,
// Maestro, Verve. A number without such a prefix is not a card number, but for example an order number.
const KNOWN_PREFIX = /^(4|5[0-8]|2[2-7]|3[4-9]|30|6|35)/

const MIN_DIGITS = 13
const MAX_DIGITS = 19

// People write a card number in groups of digits, with a single space or dash between them.
const GROUPS = /\d+(?:[ -]\d+)*/g

export function containsCardNumber(text: string): boolean {
  // NFKC turns full-width digits into ASCII digits.
  return [...text.normalize('NFKC').matchAll(GROUPS)].some(([groups]) => hasCardNumber(groups.split(/[ -]/)))
}

/** Tries every run of neighbouring groups, because an order number or an expiry date often precedes or follows the card. */
function hasCardNumber(groups: string[]): boolean {
  return groups.some((_, start) => {
    let digits = ''
    for (const group of groups.slice(start)) {
      digits += group
      if (digits.length > MAX_DIGITS) return false
      if (digits.length >= MIN_DIGITS && KNOWN_PREFIX.test(digits) && passesLuhn(digits)) return true
    }
    return false
  })
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
