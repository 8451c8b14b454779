// Parses an amount as people write it: with spaces, with commas or dots as thousands or decimal separators, in the
// digits of their language, with the currency beside it.

import type { Currency } from '../../core/currency.ts'
import { type Money, parseAmount } from '../../core/money.ts'
import { currencyMarks } from '../../core/text/display-amount.ts'

// A separator before three digits separates thousands, because no currency here has three decimals. Thousands do not
// begin with 0, so 0.500 means a half and not five hundred.
const FORMS = [
  /^([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d{1,2}))?$/,
  // Lakh and crore groups, as in Bengali: 12,34,567.50.
  /^([1-9]\d?(?:,\d{2})*,\d{3})(?:\.(\d{1,2}))?$/,
  /^([1-9]\d{0,2}(?:\.\d{3})+)(?:,(\d{1,2}))?$/,
  /^(\d{1,15})(?:[.,](\d{1,2}))?$/,
]

/** The amount, or undefined if it is ambiguous. It is never rounded. */
export function readTypedAmount(text: string, currency: Currency): Money | undefined {
  const plain = withoutMark(inLatinDigits(text).replaceAll(/[\s'’_]/g, ''), currency)
  const match = FORMS.map((form) => form.exec(plain)).find((found) => found !== null)
  if (!match) return undefined
  const whole = (match[1] ?? '').replaceAll(/[.,]/g, '')
  const amount = parseAmount(Number(`${whole}.${match[2] ?? '0'}`), currency)
  return typeof amount === 'string' ? undefined : amount
}

function withoutMark(text: string, currency: Currency): string {
  const lower = text.toLowerCase()
  for (const mark of currencyMarks(currency).map((one) => one.toLowerCase())) {
    if (lower.startsWith(mark)) return text.slice(mark.length)
    if (lower.endsWith(mark)) return text.slice(0, -mark.length)
  }
  return text
}

// The first digit of each digit set that keyboards of our languages produce.
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
