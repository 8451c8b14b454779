// The currencies that Stripe supports, and its amounts: whole numbers of its own minor units.

import { CURRENCY_CODES, type Currency, isCurrency } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'
import type { Rail } from '../gateway.ts'

// Stripe does not support these two.
const UNSUPPORTED: readonly Currency[] = ['GHS', 'SSP']
const WITH_BANK_TRANSFERS: readonly Currency[] = ['EUR', 'GBP', 'USD']

export const SUPPORTED_CURRENCIES = CURRENCY_CODES.filter((currency) => !UNSUPPORTED.includes(currency))

// An amount has at most eight digits; the currencies with more are none of ours.
const MAX_AMOUNT = 99_999_999n

// UGX has no minor unit in ISO 4217, but Stripe counts it in hundredths: amounts are multiples of 100. For all other
// currencies Stripe's minor unit is that of ISO 4217.
const scaleOf = (currency: Currency) => (currency === 'UGX' ? 100n : 1n)

// Where Stripe has merchants of its own in the currency. Cards of all other countries are charged from abroad.
const LOCAL_COUNTRIES: Partial<Record<Currency, string>> = {
  CAD: 'CA',
  EUR: 'AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK',
  GBP: 'GB GG IM JE',
  USD: 'US PR',
}

export const RAILS: readonly Rail[] = SUPPORTED_CURRENCIES.map((currency) => ({
  currency,
  channels: WITH_BANK_TRANSFERS.includes(currency) ? ['card', 'bank_transfer'] : ['card'],
  // Fifty cents, or the equivalent in the account's settlement currency on that day; only for the dollar is that a
  // fixed number.
  ...(currency === 'USD' && { minimumMinor: 50n }),
  maximumMinor: MAX_AMOUNT / scaleOf(currency),
  localIn: LOCAL_COUNTRIES[currency]?.split(' ') ?? [],
}))

export function toAmount({ minor, currency }: Money): string {
  return String(minor * scaleOf(currency))
}

/** Undefined for an unknown currency and for decimals that the currency does not have: nothing is rounded. */
export function fromAmount(amount: number, currencyText: string): Money | undefined {
  const currency = currencyText.toUpperCase()
  if (!isCurrency(currency)) return undefined
  const scale = scaleOf(currency)
  const units = BigInt(amount)
  return units % scale === 0n ? money(units / scale, currency) : undefined
}
