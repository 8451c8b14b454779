// Amounts at pawaPay: decimal text in major units.

import { type Currency, decimalsOf } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'

/** pawaPay's pattern allows no trailing zeros: 15.50 is "15.5" and 15.00 is "15". */
export function toAmount({ minor, currency }: Money): string {
  const decimals = decimalsOf(currency)
  const digits = String(minor).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

const AMOUNT = /^(0|[1-9]\d{0,17})(?:\.(\d{1,10}))?$/

/** Undefined for decimals that the currency does not have. Trailing zeros, as in 1000.0000, are ignored. */
export function fromAmount(text: string, currency: Currency): Money | undefined {
  const match = AMOUNT.exec(text)
  if (!match) return undefined
  const fraction = (match[2] ?? '').replace(/0+$/, '')
  const decimals = decimalsOf(currency)
  if (fraction.length > decimals) return undefined
  return money(BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`), currency)
}
