// Flutterwave counts in major units and writes them as JSON numbers: 12.5 is twelve and a half naira, 5000 is five
// thousand francs.

import { type Currency, decimalsOf, isCurrency } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'

/** The number whose shortest text is the amount: JSON writes exactly that text. */
export function toMajor({ minor, currency }: Money): number {
  const decimals = decimalsOf(currency)
  const digits = String(minor).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const text = fraction ? `${whole}.${fraction}` : whole
  const major = Number(text)
  // Beyond fifteen digits a number would say another amount. The interface takes fourteen.
  if (String(major) !== text) throw new Error(`${text} ${currency} cannot be written as a JSON number`)
  return major
}

/** A decimal number as JSON may write it. */
export const DECIMAL = '^(0|[1-9][0-9]{0,17})(\\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?$'

// What a column of the ledger holds, and far beyond what anybody pays.
const MAX_MINOR = 10n ** 18n

/**
 * What the record says was paid; undefined for what cannot be kept: a currency that we do not have, an absurd amount.
 * More decimals than the currency has are not rounded away: what is told then is the whole unit beside it that was not
 * asked for, and can be taken for nothing but a mismatch.
 */
export function fromMajor(text: string, currency: string, requested: Money): Money | undefined {
  if (!isCurrency(currency)) return undefined
  const { minor, isExact } = toMinor(text, currency)
  if (minor >= MAX_MINOR) return undefined
  const looksRequested = !isExact && currency === requested.currency && minor === requested.minor
  return money(looksRequested ? minor + 1n : minor, currency)
}

function toMinor(text: string, currency: Currency): { minor: bigint; isExact: boolean } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = BigInt(whole + fraction)
  const shift = Number(exponent) - fraction.length + decimalsOf(currency)
  if (shift >= 0) return { minor: digits * 10n ** BigInt(shift), isExact: true }
  const divisor = 10n ** BigInt(-shift)
  return { minor: digits / divisor, isExact: digits % divisor === 0n }
}
