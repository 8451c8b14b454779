// Flutterwave uses major units as JSON numbers: 12.5 is twelve and a half naira, 5000 is five thousand francs.

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
  // Beyond fifteen digits a float would be another amount. Our API accepts at most fourteen.
  if (String(major) !== text) throw new Error(`${text} ${currency} cannot be written as a JSON number`)
  return major
}

/** A decimal number in any JSON notation. */
export const DECIMAL = '^(0|[1-9][0-9]{0,17})(\\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?$'

// The limit of a ledger column, far beyond any real payment.
const MAX_MINOR = 10n ** 18n

/**
 * The paid amount of a record; undefined for an unknown currency or an absurd amount. Extra decimals are not rounded
 * away: the result is then a neighbouring minor unit other than the requested one, so that it counts as a mismatch.
 */
export function fromMajor(text: string, currency: string, requested: Money): Money | undefined {
  if (!isCurrency(currency)) return undefined
  const { minor, isExact } = toMinor(text, currency)
  if (minor >= MAX_MINOR) return undefined
  const looksRequested = !isExact && currency === requested.currency && minor === requested.minor
  return money(looksRequested ? minor + 1n : minor, currency)
}

/** Undefined if the number has more decimals than the currency. */
export function toExactMinor(text: string, currency: Currency): bigint | undefined {
  const { minor, isExact } = toMinor(text, currency)
  return isExact ? minor : undefined
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
