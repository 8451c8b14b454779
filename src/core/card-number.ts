// No page or field of ours takes a card number. Free text written by people is looked through for one by mistake.

// First digits of the card schemes: Visa, Mastercard (two ranges), American Express, Diners, Discover, JCB, UnionPay,
// Maestro, Verve. A number without such a beginning is somebody's order number.
const KNOWN_PREFIX = /^(4|5[0-8]|2[2-7]|3[4-9]|30|6|35)/

const CANDIDATE = /\d(?:[ -]?\d){12,18}/g

export function containsCardNumber(text: string): boolean {
  for (const match of text.matchAll(CANDIDATE)) {
    const digits = match[0].replaceAll(/[ -]/g, '')
    if (KNOWN_PREFIX.test(digits) && passesLuhn(digits)) return true
  }
  return false
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
