// No page or field of ours takes a card number. Free text written by people is looked through for one by mistake.

// First digits of the card schemes: Visa, Mastercard (two ranges), American Express, Diners, Discover, JCB, UnionPay,
// Maestro, Verve. A number without such a beginning is somebody's order number.
const KNOWN_PREFIX = /^(4|5[0-8]|2[2-7]|3[4-9]|30|6|35)/

const MIN_DIGITS = 13
const MAX_DIGITS = 19

// Groups of digits with a single space or dash between them, the ways in which people write a card number.
const GROUPS = /\d+(?:[ -]\d+)*/g

export function containsCardNumber(text: string): boolean {
  // Full-width digits and the like are the same number to whoever reads them.
  return [...text.normalize('NFKC').matchAll(GROUPS)].some(([groups]) =>
    holdsCardNumber(groups.split(/[ -]/)),
  )
}

/** Any neighbouring groups may be the card: an order number or an expiry date often stands beside it. */
function holdsCardNumber(groups: string[]): boolean {
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
