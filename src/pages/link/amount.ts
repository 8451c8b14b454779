// An amount as people write it: with spaces, with commas or dots between thousands and before cents, in the digits of
// their own language, with the name of the currency beside it.

import type { Currency } from '../../core/currency.ts'
import { type Money, parseAmount } from '../../core/money.ts'

// Where a separator has three digits behind it, it stands between thousands: no currency here has three decimals. Nobody
// begins thousands with a nought, so who writes 0.500 means a half and not five hundred.
const FORMS = [
  /^([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d{1,2}))?$/,
  // By lakh and crore, as Bengali has it: 12,34,567.50.
  /^([1-9]\d?(?:,\d{2})*,\d{3})(?:\.(\d{1,2}))?$/,
  /^([1-9]\d{0,2}(?:\.\d{3})+)(?:,(\d{1,2}))?$/,
  /^(\d{1,15})(?:[.,](\d{1,2}))?$/,
]

/** What was meant, or undefined where that is not certain. It is never rounded. */
export function readTypedAmount(text: string, currency: Currency): Money | undefined {
  const plain = inLatinDigits(text)
    .replaceAll(/[\s'’_]/g, '')
    .replace(new RegExp(`^${currency}|${currency}$`, 'i'), '')
  const match = FORMS.map((form) => form.exec(plain)).find((found) => found !== null)
  if (!match) return undefined
  const whole = (match[1] ?? '').replaceAll(/[.,]/g, '')
  const amount = parseAmount(Number(`${whole}.${match[2] ?? '0'}`), currency)
  return typeof amount === 'string' ? undefined : amount
}

// The first digit of each set of ten that a keyboard of our languages may give.
const ZEROS = ['٠', '۰', '০'].map((zero) => zero.charCodeAt(0))

function inLatinDigits(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[٠-٩۰-۹০-৯]/g, (digit) => {
      const code = digit.charCodeAt(0)
      const zero = ZEROS.find((one) => code >= one && code <= one + 9) ?? code
      return String(code - zero)
    })
    .replaceAll('٫', '.')
    .replaceAll('٬', ',')
}
