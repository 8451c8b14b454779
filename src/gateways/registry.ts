// The gateways that this service has, in the order in which they are tried: one line per gateway in app.ts.

import { type Currency, usesCurrency } from '../core/currency.ts'
import type { Channel, Gateway, Rail } from './gateway.ts'

export interface Candidate {
  gateway: Gateway
  channels: readonly Channel[]
}

export interface Gateways {
  get(name: string): Gateway
  all(): readonly Gateway[]
  /** Who can collect this currency in this country, and how. A null country is one that the payment did not name. */
  candidates(currency: Currency, country: string | null): Candidate[]
}

export function createGateways(list: readonly Gateway[]): Gateways {
  const byName = new Map(list.map((gateway) => [gateway.name, gateway]))
  if (byName.size !== list.length) throw new Error('two gateways have the same name')
  return {
    get(name) {
      const gateway = byName.get(name)
      if (!gateway) throw new Error(`there is no gateway called ${name}`)
      return gateway
    },
    all: () => list,
    candidates: (currency, country) =>
      list
        .map((gateway) => ({ gateway, channels: channelsOf(gateway, currency, country) }))
        .filter(({ channels }) => channels.length > 0),
  }
}

function channelsOf(gateway: Gateway, currency: Currency, country: string | null): Channel[] {
  const serving = gateway.rails.filter((rail) => rail.currency === currency && reaches(rail, country))
  return [...new Set(serving.flatMap((rail) => rail.channels))]
}

function reaches(rail: Rail, country: string | null): boolean {
  // A rail for some countries only cannot be promised to a payment that names none.
  if (country === null) return rail.countries === undefined
  return rail.countries?.includes(country) ?? usesCurrency(country, rail.currency)
}
