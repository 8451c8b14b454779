// What rails say about one payment: which of them serve it, through which channels, and how each channel is collected.

import { type Currency, usesCurrency } from '../core/currency.ts'
import { type Network, networksOf } from '../core/networks.ts'
import { type Channel, isDirect, type Rail } from './gateway.ts'

export interface RailCriteria {
  currency: Currency
  /** Null: the payment names none. */
  country: string | null
  /** Null: any amount that the rails take. */
  amountMinor: bigint | null
}

/** How a channel is collected. */
export interface Way {
  channel: Channel
  /**
   * prompt: our page asks for the number, and a prompt appears on the phone. page: on the provider's page. transfer: to
   * an account that our page shows.
   */
  collection: 'prompt' | 'page' | 'transfer'
  /** The networks whose payers are prompted, the largest first; otherwise empty. */
  networks: readonly Network[]
}

/** The rails that collect a payment; empty if none does. */
export function servingRails(rails: readonly Rail[], criteria: RailCriteria): Rail[] {
  return rails.filter((rail) => rail.currency === criteria.currency && serves(rail, criteria))
}

function serves(rail: Rail, { country, amountMinor }: RailCriteria): boolean {
  if (amountMinor !== null && !acceptsAmount(rail, amountMinor)) return false
  // A rail for some countries only cannot be offered to a payment without a country.
  if (country === null) return rail.countries === undefined
  return rail.countries?.includes(country) ?? usesCurrency(country, rail.currency)
}

function acceptsAmount(
  { minimumMinor = 0n, maximumMinor, stepMinor = 1n }: Rail,
  amountMinor: bigint,
): boolean {
  const isTooLarge = maximumMinor !== undefined && amountMinor > maximumMinor
  return amountMinor >= minimumMinor && !isTooLarge && amountMinor % stepMinor === 0n
}

/** How these rails collect each of their channels in a country. */
export function waysOf(rails: readonly Rail[], country: string | null): Way[] {
  const channels = [...new Set(rails.flatMap((rail) => rail.channels))]
  return channels.map((channel) => {
    const having = rails.filter((rail) => rail.channels.includes(channel))
    const prompting = channel === 'mobile_money' ? having.filter(({ prompts }) => prompts) : []
    if (prompting.length > 0)
      return { channel, collection: 'prompt', networks: promptedNetworks(prompting, country) }
    const isShown =
      isDirect(channel) || (channel === 'bank_transfer' && having.some((rail) => rail.transfers))
    return { channel, collection: isShown ? 'transfer' : 'page', networks: [] }
  })
}

function promptedNetworks(prompting: readonly Rail[], country: string | null): Network[] {
  return networksOf(country).filter(({ code }) =>
    prompting.some(({ networks }) => networks === undefined || networks.includes(code)),
  )
}
