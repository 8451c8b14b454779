// Amounts of Medusa as exact decimals. Taxes give Medusa totals with more decimals than the currency has: they are rounded
// half up to the currency, in text, and never pass through binary fractions.

import { type MedusaAmount, ProviderError } from './medusa.ts'

const DECIMAL = /^(\d+)(?:\.(\d+))?$/

/** The amount as the API takes it, in the decimals of the currency. */
export function toAmount(amount: MedusaAmount, currency: string): { text: string; number: number } {
  const text = roundHalfUp(textOf(amount), decimalsOf(currency))
  const number = Number(text)
  // The service reads the shortest text of the JSON number. It must be this one.
  if (!isSameDecimal(String(number), text))
    throw new ProviderError('invalid_data', `${text} ${currency} is too large for a payment.`)
  return { text, number }
}

/** The decimal that Medusa was given. */
export function textOf(amount: MedusaAmount): string {
  const text = String(plainOf(amount)).trim()
  if (!DECIMAL.test(text)) throw new ProviderError('invalid_data', `${text} is not an amount.`)
  return text
}

function plainOf(amount: MedusaAmount): string | number {
  if (typeof amount !== 'object') return amount
  if ('toFixed' in amount) return amount.toFixed()
  if ('value' in amount) return amount.value
  return amount.raw?.value ?? amount.numeric
}

/** The decimals of ISO 4217, which Cowry uses too. */
function decimalsOf(currency: string): number {
  // Intl throws a RangeError for any other form.
  if (!/^[A-Z]{3}$/.test(currency)) throw new ProviderError('invalid_data', `${currency} is not a currency.`)
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  return format.resolvedOptions().maximumFractionDigits ?? 2
}

function roundHalfUp(text: string, decimals: number): string {
  const [, whole = '0', fraction = ''] = DECIMAL.exec(text) ?? []
  const kept = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
  const minor = Number(fraction.charAt(decimals)) >= 5 ? kept + 1n : kept
  const digits = String(minor).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** `5000` and `5000.00` are the same. */
export function isSameDecimal(one: string, other: string): boolean {
  const normal = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)
  return normal(one) === normal(other)
}
