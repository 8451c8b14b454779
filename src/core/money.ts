// Money is a whole number of minor units and a currency. A JavaScript number never holds money past the edge:
// it enters through parseAmount, which reads the shortest decimal text of the number, and leaves as text.

import { type Currency, decimalsOf } from './currency.ts'

export interface Money {
  readonly minor: bigint
  readonly currency: Currency
}

/** 999,999,999,999.99 in major units, the largest amount the interface takes, in hundredths. */
const MAX_HUNDREDTHS = 99_999_999_999_999n

export type AmountIssue = 'amount_out_of_range' | 'amount_precision'

export function money(minor: bigint, currency: Currency): Money {
  return { minor, currency }
}

/** The exact minor units of a JSON number in major units, or what is wrong with it. Never rounds. */
export function parseAmount(amount: number, currency: Currency): Money | AmountIssue {
  if (!Number.isFinite(amount) || amount <= 0) return 'amount_out_of_range'
  const match = /^(\d+)(?:\.(\d+))?$/.exec(String(amount))
  // Exponent form: what is left after the range check is either far too large or far too fine.
  if (!match) return amount < 1 ? 'amount_precision' : 'amount_out_of_range'
  const whole = match[1] ?? ''
  const fraction = match[2] ?? ''
  const decimals = decimalsOf(currency)
  if (amount > Number(MAX_HUNDREDTHS) / 100) return 'amount_out_of_range'
  if (fraction.length > decimals) return 'amount_precision'
  return money(BigInt(whole + fraction.padEnd(decimals, '0')), currency)
}

/**
 * The exact minor units of a decimal text, such as a provider writes into a file. Undefined when it is none, or finer than
 * the currency: noughts behind the last place are only noughts.
 */
export function readDecimal(text: string, currency: Currency): Money | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,10}))?$/.exec(text)
  if (!match) return undefined
  const [, sign = '', whole = '', fraction = ''] = match
  const decimals = decimalsOf(currency)
  if (/[1-9]/.test(fraction.slice(decimals))) return undefined
  const digits = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
  return money(sign === '-' ? -digits : digits, currency)
}

/** Decimal text with two places in every currency, as the interface shows amounts: 5000 XOF is "5000.00". */
export function formatAmount(amount: Money): string {
  const hundredths = decimalsOf(amount.currency) === 0 ? amount.minor * 100n : amount.minor
  const sign = hundredths < 0n ? '-' : ''
  const digits = String(hundredths < 0n ? -hundredths : hundredths).padStart(3, '0')
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

export function add(a: Money, b: Money): Money {
  return money(a.minor + requireSameCurrency(a, b).minor, a.currency)
}

export function subtract(a: Money, b: Money): Money {
  return money(a.minor - requireSameCurrency(a, b).minor, a.currency)
}

export function equals(a: Money, b: Money): boolean {
  return a.currency === b.currency && a.minor === b.minor
}

function requireSameCurrency(a: Money, b: Money): Money {
  if (a.currency !== b.currency) throw new Error(`cannot mix ${a.currency} with ${b.currency}`)
  return b
}

/** A share in parts per million, rounded half up to a whole minor unit: the one rounding rule of fees. */
export function shareOf(amount: Money, partsPerMillion: bigint): Money {
  return money((amount.minor * partsPerMillion + 500_000n) / 1_000_000n, amount.currency)
}
