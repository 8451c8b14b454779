// What Flutterwave collects, as data: where its own lists and our default routes agree. An account may take less: what it
// does not take it refuses before anything begins, and the next gateway is tried.

import { CURRENCIES, type Currency, defaultCountry } from '../../core/currency.ts'
import type { Channel, Rail } from '../gateway.ts'

interface FlutterwaveRail {
  currency: Currency
  countries?: readonly string[]
  /** Our channels, each with Flutterwave's own names for what belongs to it. */
  channels: Partial<Record<Channel, string>>
}

// Flutterwave splits its list of options at a comma and a space.
const NIGERIAN_BANKS = 'banktransfer, ussd, account'

// Dollars of the Congo are mobile money, and Kenyan dollars belong to local accounts: Flutterwave collects neither.
const DOLLAR_COUNTRIES = CURRENCIES.USD.countries.filter((country) => country !== 'CD' && country !== 'KE')

const FLUTTERWAVE_RAILS: readonly FlutterwaveRail[] = [
  { currency: 'NGN', channels: { card: 'card', bank_transfer: NIGERIAN_BANKS } },
  { currency: 'USD', countries: DOLLAR_COUNTRIES, channels: { card: 'card', bank_transfer: 'account' } },
  { currency: 'EUR', channels: { card: 'card', bank_transfer: 'account' } },
  { currency: 'GBP', channels: { card: 'card', bank_transfer: 'account' } },
  { currency: 'GHS', channels: { card: 'card', mobile_money: 'ghanamobilemoney' } },
  { currency: 'KES', channels: { card: 'card', mobile_money: 'mpesa' } },
  { currency: 'UGX', channels: { card: 'card', mobile_money: 'mobilemoneyuganda' } },
  { currency: 'RWF', channels: { card: 'card', mobile_money: 'mobilemoneyrwanda' } },
  { currency: 'TZS', channels: { card: 'card', mobile_money: 'mobilemoneytanzania' } },
  { currency: 'ZMW', channels: { card: 'card', mobile_money: 'mobilemoneyzambia' } },
  { currency: 'MWK', channels: { card: 'card', mobile_money: 'mobilemoneymalawi' } },
  { currency: 'XAF', countries: ['CM'], channels: { card: 'card', mobile_money: 'mobilemoneyfranco' } },
  { currency: 'XOF', countries: ['CI', 'SN'], channels: { card: 'card', mobile_money: 'mobilemoneyfranco' } },
  { currency: 'ZAR', countries: ['ZA'], channels: { card: 'card', bank_transfer: 'account' } },
  { currency: 'EGP', channels: { card: 'card' } },
]

export const RAILS: readonly Rail[] = FLUTTERWAVE_RAILS.map(({ currency, countries, channels }) => ({
  currency,
  ...(countries && { countries }),
  // The keys of a constant table of channels are channels, which Object.keys cannot say by itself.
  channels: Object.keys(channels) as Channel[],
}))

/** Every rail takes cards, so a saved card can be charged in every currency. */
export const CARD_CURRENCIES: readonly Currency[] = RAILS.map(({ currency }) => currency)

// The euro has no country of its own, and Flutterwave wants one all the same: where most people pay with it.
const LARGEST_EURO_COUNTRY = 'DE'

/** The country of a card that nobody told one of: that of its currency, or the first that is served where many share it. */
export function fallbackCountry(currency: Currency): string {
  const served = RAILS.find((rail) => rail.currency === currency)?.countries?.[0]
  return defaultCountry(currency) ?? served ?? LARGEST_EURO_COUNTRY
}

/** What Flutterwave's page offers when the payer chose a channel on ours; undefined for all that the account has. */
export function toPaymentOptions(currency: Currency, channel: Channel): string | undefined {
  return FLUTTERWAVE_RAILS.find((rail) => rail.currency === currency)?.channels[channel]
}
