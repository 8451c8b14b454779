// Which currencies Stripe takes, and how it counts them: whole numbers of its own minor units.

import { CURRENCY_CODES, type Currency, isCurrency } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'
import type { Rail } from '../gateway.ts'

// Stripe cannot present these two at all.
const UNSUPPORTED: readonly Currency[] = ['GHS', 'SSP']
const WITH_BANK_TRANSFERS: readonly Currency[] = ['EUR', 'GBP', 'USD']

export const SUPPORTED_CURRENCIES = CURRENCY_CODES.filter((currency) => !UNSUPPORTED.includes(currency))

export const RAILS: readonly Rail[] = SUPPORTED_CURRENCIES.map((currency) => ({
  currency,
  channels: WITH_BANK_TRANSFERS.includes(currency) ? ['card', 'bank_transfer'] : ['card'],
  // Fifty cents, or what they are worth on the day in the currency in which the account settles: only for the dollar
  // is that a number.
  ...(currency === 'USD' && { minimumMinor: 50n }),
}))

// The shilling of Uganda has no cents and Stripe counts them all the same: an amount is a multiple of 100. For every
// other currency of ours Stripe's minor unit is that of ISO 4217.
const scaleOf = (currency: Currency) => (currency === 'UGX' ? 100n : 1n)

export function toAmount({ minor, currency }: Money): string {
  return String(minor * scaleOf(currency))
}

/** Undefined for a currency that is not ours and for cents that the currency does not have: nothing is rounded. */
export function fromAmount(amount: number, currencyText: string): Money | undefined {
  const currency = currencyText.toUpperCase()
  if (!isCurrency(currency)) return undefined
  const scale = scaleOf(currency)
  const units = BigInt(amount)
  return units % scale === 0n ? money(units / scale, currency) : undefined
}
