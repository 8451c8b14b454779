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
  /** The networks whose payers enter their number on our page, unless they are among the next. */
  networks?: readonly string[]
  /** Those of them whose payers go to Paystack's page. */
  pageNetworks?: readonly string[]
  /** Our page shows the account to pay into. */
  transfers?: true
}

// Apple Pay holds cards, so it belongs to the choice of a card. The account decides which of the options appear.
const CARD = { card: ['card', 'apple_pay'] }
const MOBILE_MONEY = { mobile_money: ['mobile_money'] }

const PAYSTACK_RAILS: readonly PaystackRail[] = [
  {
    currency: 'NGN',
    minimumMinor: 5_000n,
    channels: { ...CARD, bank_transfer: ['bank_transfer', 'bank', 'ussd'] },
    transfers: true,
  },
  {
    currency: 'GHS',
    minimumMinor: 10n,
    channels: { ...CARD, ...MOBILE_MONEY },
    networks: ['mtn_gh', 'telecel_gh', 'at_gh'],
    // Telecel Cash wants a voucher that the payer gets by USSD, and Paystack's page asks for it.
    pageNetworks: ['telecel_gh'],
  },
  {
    currency: 'KES',
    minimumMinor: 300n,
    channels: { ...CARD, ...MOBILE_MONEY, bank_transfer: ['bank_transfer'] },
    networks: ['mpesa_ke', 'airtel_ke'],
  },
  {
    currency: 'ZAR',
    countries: ['ZA'],
    minimumMinor: 100n,
    channels: { ...CARD, bank_transfer: ['eft', 'capitec_pay', 'qr'] },
  },
  { currency: 'USD', countries: ['NG', 'KE'], minimumMinor: 200n, channels: CARD },
  // ISO 4217 has no decimals for XOF, so no step is declared; only the wire format uses hundredths.
  {
    currency: 'XOF',
    countries: ['CI'],
    minimumMinor: 1n,
    channels: { ...CARD, ...MOBILE_MONEY },
    networks: ['orange_ci', 'wave_ci', 'mtn_ci'],
  },
]

const PROVIDERS: Readonly<Record<string, string>> = {
  mtn_gh: 'mtn',
  at_gh: 'atl',
  mpesa_ke: 'mpesa',
  airtel_ke: 'atl',
  orange_ci: 'orange',
  wave_ci: 'wave',
  mtn_ci: 'mtn',
}

/** Paystack's name of a network that can be charged from our page. */
export function toProvider(network: string): string | undefined {
  return Object.hasOwn(PROVIDERS, network) ? PROVIDERS[network] : undefined
}

// A boundary: the keys of a constant table of channels are channels; Object.keys only says string.
const channelsOf = (rail: PaystackRail) => Object.keys(rail.channels) as Channel[]

export const RAILS: readonly Rail[] = PAYSTACK_RAILS.map((rail) => ({
  currency: rail.currency,
  ...(rail.countries && { countries: rail.countries }),
  channels: channelsOf(rail),
  minimumMinor: rail.minimumMinor,
  ...(rail.networks && { prompts: true as const, networks: rail.networks }),
  ...(rail.pageNetworks && { pageNetworks: rail.pageNetworks }),
  ...(rail.transfers && { transfers: rail.transfers }),
}))

/** The options on Paystack's page for the channel that the payer chose on ours; undefined: all that the account has. */
export function toChannels(currency: Currency, channel: Channel): readonly string[] | undefined {
  return PAYSTACK_RAILS.find((rail) => rail.currency === currency)?.channels[channel]
}
