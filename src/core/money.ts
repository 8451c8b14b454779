// Money is a whole number of minor units and a currency. No JavaScript number holds money inside the service:
// parseAmount reads the shortest decimal text of a JSON number, and formatAmount writes text.

import { type Currency, decimalsOf } from './currency.ts'
import { parseAccountName } from './gateway-accounts/name.ts'

export interface Money {
  readonly minor: bigint
  readonly currency: Currency
}

/** The largest amount of the API in hundredths: 999,999,999,999.99 in major units. */
const MAX_HUNDREDTHS = 99_999_999_999_999n

export type AmountIssue = 'amount_out_of_range' | 'amount_precision'

export function money(minor: bigint, currency: Currency): Money {
  return { minor, currency }
}

/** Converts a JSON number in major units to exact minor units, or returns the issue. It never rounds. */
export function parseAmount(amount: number, currency: Currency): Money | AmountIssue {
  if (!Number.isFinite(amount) || amount <= 0) return 'amount_out_of_range'
  const match = /^(\d+)(?:\.(\d+))?$/.exec(String(amount))
  // Exponent form: the number is either far too large or has far too many decimals.
  if (!match) return amount < 1 ? 'amount_precision' : 'amount_out_of_range'
  const whole = match[1] ?? ''
  const fraction = match[2] ?? ''
  const decimals = decimalsOf(currency)
  if (amount > Number(MAX_HUNDREDTHS) / 100) return 'amount_out_of_range'
  if (fraction.length > decimals) return 'amount_precision'
  return money(BigInt(whole + fraction.padEnd(decimals, '0')), currency)
}

/**
 * Reads a decimal text, such as an amount in a settlement file. Undefined if it is not a decimal, or has more decimals
 * than the currency; trailing zeros do not count.
 */
export function readDecimal(text: string, currency: Currency): Money | undefined {
  const minor = readScaled(text, decimalsOf(currency))
  return minor === undefined ? undefined : money(minor, currency)
}

/** Reads a decimal text as a whole number of its smallest units, of which ten to the power of `decimals` make one. */
export function readScaled(text: string, decimals: number): bigint | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,10}))?$/.exec(text)
  if (!match) return undefined
  const [, sign = '', whole = '', fraction = ''] = match
  // Trailing zeros do not count: "5.00" is valid for 5 XOF.
  if (/[1-9]/.test(fraction.slice(decimals))) return undefined
  const digits = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
  return sign === '-' ? -digits : digits
}

/** Decimal text with two places in every currency, as in API responses: 5000 XOF is "5000.00". */
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

/** A share in parts per million, rounded half up to a whole minor unit. Fees are rounded only here. */
export function shareOf(amount: Money, partsPerMillion: bigint): Money {
  return money((amount.minor * partsPerMillion + 500_000n) / 1_000_000n, amount.currency)
}

/** The fee that the instance keeps of a payment: a share and a fixed part. */
export interface Fee {
  partsPerMillion: bigint
  fixedMinor: bigint
}

/** By gateway and currency; the setting's `*` is already expanded to the currencies that it does not name. */
export type FeeTable = ReadonlyMap<string, ReadonlyMap<Currency, Fee>>

/**
 * The share, rounded half up, and the fixed part; at most the payment itself. An account with a label has the fees of its
 * gateway unless it has its own. Null: the table does not have it.
 */
export function feeOf(fees: FeeTable, gateway: string, paid: Money): Money | null {
  const others = [...fees.keys()].filter((name) => name !== gateway)
  const shared = parseAccountName(others, gateway)?.gateway ?? ''
  const fee = fees.get(gateway)?.get(paid.currency) ?? fees.get(shared)?.get(paid.currency)
  if (!fee) return null
  const wanted = shareOf(paid, fee.partsPerMillion).minor + fee.fixedMinor
  return money(wanted > paid.minor ? paid.minor : wanted, paid.currency)
}
