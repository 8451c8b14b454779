// What Paystack collects, as data. One Paystack account serves one country, so an account may take less than this:
// what it does not take it refuses before anything begins, and the next gateway is tried.

import type { Currency } from '../../core/currency.ts'
import type { Channel, Rail } from '../gateway.ts'

interface PaystackRail {
  currency: Currency
  countries?: readonly string[]
  minimumMinor: bigint
  /** Our channels, each with Paystack's own names for what belongs to it. */
  channels: Partial<Record<Channel, readonly string[]>>
}

const CARD = { card: ['card'] }
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
    channels: { ...CARD, bank_transfer: ['eft', 'qr'] },
  },
  { currency: 'USD', countries: ['NG', 'KE'], minimumMinor: 200n, channels: CARD },
  // Whole francs by ISO already, so there is no step to declare; only the wire counts them in hundredths.
  { currency: 'XOF', countries: ['CI'], minimumMinor: 1n, channels: { ...CARD, ...MOBILE_MONEY } },
]

// The keys of a constant table of channels are channels, which Object.keys cannot say by itself.
const channelsOf = (rail: PaystackRail) => Object.keys(rail.channels) as Channel[]

export const RAILS: readonly Rail[] = PAYSTACK_RAILS.map((rail) => ({
  currency: rail.currency,
  ...(rail.countries && { countries: rail.countries }),
  channels: channelsOf(rail),
  minimumMinor: rail.minimumMinor,
}))

/** What Paystack's page offers when the payer chose a channel on ours; undefined for all that the account has. */
export function toChannels(currency: Currency, channel: Channel): readonly string[] | undefined {
  return PAYSTACK_RAILS.find((rail) => rail.currency === currency)?.channels[channel]
}
