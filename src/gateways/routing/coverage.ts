// Which ways to pay the connectors of this version give to the payers of a country, if all gateways are configured.

import { CURRENCIES, CURRENCY_CODES, type Currency } from '../../core/currency.ts'
import { networksOf } from '../../core/networks.ts'
import type { GatewayDefinition } from '../definition.ts'
import { type Channel, isDirect, type Rail } from '../gateway.ts'
import { servingRails, type Way, waysOf } from '../rails.ts'
import { DEFAULT_ROUTES } from './default-routes.ts'
import { findRoute } from './routing.ts'

export interface CoveredWay {
  channel: Channel
  /** False if all gateways charge international cards from abroad. */
  isLocal: boolean
  /** The networks whose payers our page prompts, or to whose numbers they send money. */
  networks: readonly string[]
  gateways: readonly { name: string; collection: Way['collection'] }[]
}

export interface PlaceCoverage {
  currency: Currency
  /** Countries with the same ways. */
  countries: readonly string[]
  ways: readonly CoveredWay[]
}

export function coverageOf(definitions: readonly GatewayDefinition[]): PlaceCoverage[] {
  return CURRENCY_CODES.flatMap((currency) => {
    const places = CURRENCIES[currency].countries.map((country) => ({
      country,
      ways: waysIn(definitions, currency, country),
    }))
    const groups = Map.groupBy(places, ({ ways }) => JSON.stringify(ways))
    return [...groups.values()].map((group) => ({
      currency,
      countries: group.map(({ country }) => country),
      ways: group[0]?.ways ?? [],
    }))
  })
}

/** The currencies whose payers have no local way through a gateway, in any country. */
export function currenciesWithoutLocalGateway(places: readonly PlaceCoverage[]): Currency[] {
  const isLocalGateway = ({ isLocal, channel }: CoveredWay) => isLocal && !isDirect(channel)
  const isCovered = (currency: Currency) =>
    places.some((place) => place.currency === currency && place.ways.some(isLocalGateway))
  return CURRENCY_CODES.filter((currency) => !isCovered(currency))
}

function waysIn(
  definitions: readonly GatewayDefinition[],
  currency: Currency,
  country: string,
): CoveredWay[] {
  const routed = findRoute(DEFAULT_ROUTES, currency, country)?.gateways ?? []
  const offers = routed.flatMap((name) => {
    const rails = definitions.find((one) => one.name === name)?.rails ?? []
    return offersOf(name, servingRails(rails, { currency, country, amountMinor: null }), country)
  })
  const ways = [...Map.groupBy(offers, ({ channel, isLocal }) => `${channel} ${isLocal}`).values()].map(
    mergeWays,
  )
  const isCovered = ways.some(({ isLocal }) => isLocal)
  return isCovered ? ways : [...ways, ...p2pWays(country)]
}

function offersOf(name: string, rails: readonly Rail[], country: string): CoveredWay[] {
  const isLocal = rails.some(({ localIn }) => localIn?.includes(country) ?? true)
  return waysOf(rails, country).map(({ channel, collection, networks }) => ({
    channel,
    isLocal,
    networks: networks.map((network) => network.name),
    gateways: [{ name, collection }],
  }))
}

/** One way for a channel, with all networks and gateways of these. */
function mergeWays(offers: readonly CoveredWay[]): CoveredWay {
  const [first] = offers
  if (!first) throw new Error('there is no offer')
  return {
    ...first,
    networks: [...new Set(offers.flatMap(({ networks }) => networks))],
    gateways: offers.flatMap(({ gateways }) => gateways),
  }
}

/** Every merchant can let payers send mobile money to its own number. */
function p2pWays(country: string): CoveredWay[] {
  const networks = networksOf(country).map(({ name }) => name)
  if (networks.length === 0) return []
  const gateways = [{ name: 'p2p', collection: 'transfer' as const }]
  return [{ channel: 'direct_mobile_money', isLocal: true, networks, gateways }]
}
