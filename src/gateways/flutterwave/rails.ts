// What Flutterwave collects: the intersection of its own lists and our default routes. An account may support less: it
// refuses such a request before anything begins, and routing tries the next gateway.

import { CURRENCIES, type Currency, defaultCountry } from '../../core/currency.ts'
import type { Channel, Rail } from '../gateway.ts'
import { chargedNetworks } from './charge-types.ts'

interface FlutterwaveRail {
  currency: Currency
  countries?: readonly string[]
  /** Our channels, each with Flutterwave's names for its payment options. */
  channels: Partial<Record<Channel, string>>
}

// Flutterwave splits its list of options at a comma and a space, and shows those that it knows for the currency.
const NIGERIAN_BANKS = 'banktransfer, ussd, account'
// Wallets with cards in them belong to the choice of a card, where Flutterwave offers them.
const CARD_AND_WALLETS = 'card, applepay, googlepay'
// Its documentation has two names for some options: the current one comes first.
const GHANAIAN_WALLETS = 'mobilemoneyghana, ghanamobilemoney'
const CENTRAL_AFRICAN_WALLETS = 'mobilemoneyxaf, mobilemoneyfranco'
const WEST_AFRICAN_WALLETS = 'mobilemoneyxof, mobilemoneyfranco'

// Flutterwave collects neither dollars in the Congo (mobile money) nor in Kenya (local accounts only).
const DOLLAR_COUNTRIES = CURRENCIES.USD.countries.filter((country) => country !== 'CD' && country !== 'KE')

const FLUTTERWAVE_RAILS: readonly FlutterwaveRail[] = [
  { currency: 'NGN', channels: { card: CARD_AND_WALLETS, bank_transfer: NIGERIAN_BANKS } },
  {
    currency: 'USD',
    countries: DOLLAR_COUNTRIES,
    channels: { card: CARD_AND_WALLETS, bank_transfer: 'account' },
  },
  { currency: 'EUR', channels: { card: CARD_AND_WALLETS, bank_transfer: 'account' } },
  { currency: 'GBP', channels: { card: CARD_AND_WALLETS, bank_transfer: 'account' } },
  { currency: 'GHS', channels: { card: 'card', mobile_money: GHANAIAN_WALLETS } },
  { currency: 'KES', channels: { card: 'card', mobile_money: 'mpesa' } },
  { currency: 'UGX', channels: { card: 'card', mobile_money: 'mobilemoneyuganda' } },
  { currency: 'RWF', channels: { card: 'card', mobile_money: 'mobilemoneyrwanda' } },
  { currency: 'TZS', channels: { card: 'card', mobile_money: 'mobilemoneytanzania' } },
  { currency: 'ZMW', channels: { card: 'card', mobile_money: 'mobilemoneyzambia' } },
  { currency: 'MWK', channels: { card: 'card', mobile_money: 'mobilemoneymalawi' } },
  { currency: 'XAF', countries: ['CM'], channels: { card: 'card', mobile_money: CENTRAL_AFRICAN_WALLETS } },
  {
    currency: 'XOF',
    countries: ['CI', 'SN', 'BF'],
    channels: { card: 'card', mobile_money: WEST_AFRICAN_WALLETS },
  },
  { currency: 'ZAR', countries: ['ZA'], channels: { card: CARD_AND_WALLETS, bank_transfer: 'account' } },
  { currency: 'EGP', channels: { card: CARD_AND_WALLETS } },
]

// Flutterwave has no merchants where these are the local money.
const FROM_ABROAD: readonly Currency[] = ['EUR', 'GBP', 'USD']

export const RAILS: readonly Rail[] = FLUTTERWAVE_RAILS.map(({ currency, countries, channels }) => {
  const networks = chargedNetworks(currency)
  return {
    currency,
    ...(countries && { countries }),
    // A boundary: the keys of a constant table of channels are channels; Object.keys only says string.
    channels: Object.keys(channels) as Channel[],
    ...(networks && { prompts: true, networks }),
    ...(currency === 'NGN' && { transfers: true }),
    ...(FROM_ABROAD.includes(currency) && { localIn: [] }),
  }
})

/** Every rail takes cards, so a saved card can be charged in every currency. */
export const CARD_CURRENCIES: readonly Currency[] = RAILS.map(({ currency }) => currency)

// The euro has no single country, but Flutterwave requires one: the country with the most payers.
const LARGEST_EURO_COUNTRY = 'DE'

/**
 * The merchant's country if the account does not say it: that of the currency, or the first supported one if several
 * countries share it.
 */
export function fallbackCountry(currency: Currency): string {
  const served = RAILS.find((rail) => rail.currency === currency)?.countries?.[0]
  return defaultCountry(currency) ?? served ?? LARGEST_EURO_COUNTRY
}

/**
 * The options on Flutterwave's page for the channel that the payer chose on ours; undefined: all that the account has.
 */
export function toPaymentOptions(currency: Currency, channel: Channel): string | undefined {
  return FLUTTERWAVE_RAILS.find((rail) => rail.currency === currency)?.channels[channel]
}
