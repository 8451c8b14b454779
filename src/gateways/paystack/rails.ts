// What Paystack collects. One account serves one country, so an account may support less: it refuses such a request
// before anything begins, and routing tries the next gateway.

import type { Currency } from '../../core/currency.ts'
import type { Channel, Rail } from '../gateway.ts'

interface PaystackRail {
  currency: Currency
  countries?: readonly string[]
  minimumMinor: bigint
  /** Our channels, each with Paystack's names for its payment options. */
  channels: Partial<Record<Channel, readonly string[]>>
}

// Apple Pay holds cards, so it belongs to the choice of a card. The account decides which of the options appear.
const CARD = { card: ['card', 'apple_pay'] }
const MOBILE_MONEY = { mobile_money: ['mobile_money'] }

const PAYSTACK_RAILS: readonly PaystackRail[] = [
  {
    currency: 'NGN',
    minimumMinor: 5_000n,
    channels: { ...CARD, bank_transfer: ['bank_transfer', 'bank', 'ussd'] },
  },
  { currency: 'GHS', minimumMinor: 10n, channels: { ...CARD, ...MOBILE_MONEY } },
  {
    currency: 'KES',
    minimumMinor: 300n,
    channels: { ...CARD, ...MOBILE_MONEY, bank_transfer: ['bank_transfer'] },
  },
  {
    currency: 'ZAR',
    countries: ['ZA'],
    minimumMinor: 100n,
    channels: { ...CARD, bank_transfer: ['eft', 'capitec_pay', 'qr'] },
  },
  { currency: 'USD', countries: ['NG', 'KE'], minimumMinor: 200n, channels: CARD },
  // ISO 4217 has no decimals for XOF, so no step is declared; only the wire format uses hundredths.
  { currency: 'XOF', countries: ['CI'], minimumMinor: 1n, channels: { ...CARD, ...MOBILE_MONEY } },
]

// A boundary: the keys of a constant table of channels are channels; Object.keys only says string.
const channelsOf = (rail: PaystackRail) => Object.keys(rail.channels) as Channel[]

export const RAILS: readonly Rail[] = PAYSTACK_RAILS.map((rail) => ({
  currency: rail.currency,
  ...(rail.countries && { countries: rail.countries }),
  channels: channelsOf(rail),
  minimumMinor: rail.minimumMinor,
}))

/** The options on Paystack's page for the channel that the payer chose on ours; undefined: all that the account has. */
export function toChannels(currency: Currency, channel: Channel): readonly string[] | undefined {
  return PAYSTACK_RAILS.find((rail) => rail.currency === currency)?.channels[channel]
}
