// What rails say about one payment: which of them serve it, through which channels, and how each channel is collected.

import { CURRENCIES, type Currency, usesCurrency } from '../core/currency.ts'
import type { AccountLimits } from '../core/gateway-accounts/limits.ts'
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
  /**
   * The mobile-money networks whose payers it reaches, the largest first. Empty if the provider's page decides, or for
   * another channel.
   */
  networks: readonly Network[]
  /** The codes of those that are collected on the provider's page, although the others are prompted. */
  pageNetworks?: readonly string[]
  /** Mobile money that can be charged again if the payer agrees. */
  saves?: true
  /** The provider wants a number of every payer, also on its own page. */
  needsPhone?: true
  /** Of the sandbox, if no real connector collects the channel in this place, or reaches these networks. */
  testOnly?: { channel: boolean; networks: readonly string[] }
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
  const connectors = rails.flatMap((rail) =>
    servingRails(rail.connectors ?? [], { currency: rail.currency, country, amountMinor: null }),
  )
  const isMarked = rails.some((rail) => rail.connectors)
  return collectedWays(rails, country).map((way) => (isMarked ? markTestOnly(way, connectors, country) : way))
}

function markTestOnly(way: Way, connectors: readonly Rail[], country: string | null): Way {
  const having = connectors.filter(({ channels }) => channels.includes(way.channel))
  const reached = reachedNetworks(having, country)
  const networks = way.networks.filter((network) => !reached.includes(network)).map(({ code }) => code)
  const isMarked = having.length === 0 || networks.length > 0
  return isMarked ? { ...way, testOnly: { channel: having.length === 0, networks } } : way
}

function collectedWays(rails: readonly Rail[], country: string | null): Way[] {
  const channels = [...new Set(rails.flatMap((rail) => rail.channels))]
  return channels.map((channel) => {
    const having = rails.filter((rail) => rail.channels.includes(channel))
    const prompting = channel === 'mobile_money' ? having.filter(({ prompts }) => prompts) : []
    const saved = channel === 'mobile_money' && having.some(({ saves }) => saves) && SAVED
    if (prompting.length > 0) {
      const onPage = prompting.flatMap(({ pageNetworks = [] }) => pageNetworks)
      const networks = reachedNetworks(prompting, country)
      return {
        ...{ channel, collection: 'prompt', networks, ...saved },
        ...(onPage.length > 0 && { pageNetworks: onPage }),
      }
    }
    const isShown =
      isDirect(channel) || (channel === 'bank_transfer' && having.some((rail) => rail.transfers))
    const isNamed = channel === 'mobile_money' && having.every(({ networks }) => networks !== undefined)
    const networks = isNamed ? reachedNetworks(having, country) : []
    const contact = having.some(({ needsPhone }) => needsPhone) && CONTACT
    return { channel, collection: isShown ? 'transfer' : 'page', networks, ...saved, ...contact }
  })
}

const SAVED = { saves: true } as const
const CONTACT = { needsPhone: true } as const

function reachedNetworks(rails: readonly Rail[], country: string | null): Network[] {
  return networksOf(country).filter(({ code }) =>
    rails.some(({ networks }) => networks === undefined || networks.includes(code)),
  )
}

/** The rails of an account within its limits. */
export function narrowRails(rails: readonly Rail[], limits: AccountLimits): Rail[] {
  const isKept = ({ currency }: Rail) =>
    limits.currencies.length === 0 || limits.currencies.includes(currency)
  return rails
    .filter(isKept)
    .map((rail) => ({ ...narrowPlaces(rail, limits), ...narrowAmounts(rail, limits) }))
    .filter(({ channels, countries }) => channels.length > 0 && countries?.length !== 0)
}

function narrowPlaces(rail: Rail, limits: AccountLimits): Rail {
  const allowed: readonly Channel[] = limits.channels
  const channels = allowed.length === 0 ? rail.channels : rail.channels.filter((one) => allowed.includes(one))
  if (limits.countries.length === 0) return { ...rail, channels }
  const countries = rail.countries ?? CURRENCIES[rail.currency].countries
  return { ...rail, channels, countries: countries.filter((one) => limits.countries.includes(one)) }
}

/** The stricter of the rail's amount and the account's. */
function narrowAmounts({ currency, minimumMinor, maximumMinor }: Rail, { amounts }: AccountLimits) {
  const limit = amounts.find((one) => one.currency === currency)
  const least = limit?.minimumMinor ?? undefined
  const most = limit?.maximumMinor ?? undefined
  return {
    ...(least !== undefined && {
      minimumMinor: minimumMinor !== undefined && minimumMinor > least ? minimumMinor : least,
    }),
    ...(most !== undefined && {
      maximumMinor: maximumMinor !== undefined && maximumMinor < most ? maximumMinor : most,
    }),
  }
}

/** The country of rails that collect in one country alone; undefined if they collect in several, or in all of a currency. */
export function onlyCountryOf(rails: readonly Rail[]): string | undefined {
  const [first, ...others] = new Set(rails.flatMap(({ countries }) => countries ?? [ANYWHERE]))
  return others.length === 0 && first !== ANYWHERE ? first : undefined
}

const ANYWHERE = '*'
