// The catalog of a merchant: its gateways, the route of a payment with the reason for each gateway, and the currencies and
// countries.

import { CURRENCIES, CURRENCY_CODES, type Currency, usesCurrency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import { type Network, networksOf } from '../core/networks.ts'
import type { Rail } from '../gateways/gateway.ts'
import type { Gateways } from '../gateways/registry.ts'
import { callingCode } from '../kit/phone.ts'
import type { RoutesFilter } from './schema.ts'

export interface CatalogApp {
  gateways: Gateways
}

export async function listGateways(app: CatalogApp, merchant: Merchant) {
  const connections = await app.gateways.listForMerchant(merchant.id)
  return connections.map(({ gateway, title, health }) => ({
    name: gateway.name,
    title,
    currencies: uniqueSorted(gateway.rails.map(({ currency }) => currency)),
    countries: uniqueSorted(gateway.rails.flatMap(countriesOf)),
    channels: uniqueSorted(gateway.rails.flatMap(({ channels }) => channels)),
    recurring: gateway.chargeSaved !== undefined,
    refunds: gateway.refund !== undefined,
    partialRefunds: gateway.refund !== undefined && gateway.behavior.fullRefundsOnly !== true,
    health: health(),
  }))
}

export async function listRoutes(app: CatalogApp, merchant: Merchant, filter: RoutesFilter) {
  const lookups = routeLookups(app, filter)
  return Promise.all(
    lookups.map(async ({ currency, country, sampleCountry }) => {
      const query = { currency, country: sampleCountry, amountMinor: null, key: null }
      const { candidates, leftOut } = await app.gateways.explain(merchant.id, query)
      const gateways = candidates.map((candidate) => ({
        ...candidate,
        channels: candidate.ways.map(({ channel }) => channel),
        ways: candidate.ways.map(serializeWay),
      }))
      return { currency, country, gateways, leftOut }
    }),
  )
}

type Way = Awaited<ReturnType<Gateways['explain']>>['candidates'][number]['ways'][number]

function serializeWay({ channel, collection, networks, testOnly }: Way) {
  return {
    channel,
    collection,
    networks: networks.map((network) => ({
      ...serializeNetwork(network),
      testOnly: testOnly?.networks.includes(network.code) ?? false,
    })),
    testOnly: testOnly?.channel ?? false,
  }
}

interface RouteLookup {
  currency: Currency
  /** The country in the response; null: any other country. */
  country: string | null
  /** The country of the lookup: for null, one of those other countries. */
  sampleCountry: string | null
}

function routeLookups(app: CatalogApp, { currency, country: text }: RoutesFilter): RouteLookup[] {
  const country = text?.toUpperCase()
  if (country === undefined) return configuredLookups(app, currency)
  if (currency !== undefined && !usesCurrency(country, currency)) throw new ApiError('invalid_country')
  const currencies = currency ? [currency] : CURRENCY_CODES.filter((code) => usesCurrency(country, code))
  return currencies.map((code) => ({ currency: code, country, sampleCountry: country }))
}

/** One lookup for each configured route, with a country that the route applies to. */
function configuredLookups(
  { gateways: { routes } }: CatalogApp,
  currency: Currency | undefined,
): RouteLookup[] {
  const rows = routes.filter((row) => currency === undefined || row.currency === currency)
  return rows.map((row) => {
    const named = routes.filter((other) => other.currency === row.currency).map(({ country }) => country)
    const others = CURRENCIES[row.currency].countries.filter((country) => !named.includes(country))
    return { currency: row.currency, country: row.country, sampleCountry: row.country ?? others[0] ?? null }
  })
}

/** English display names. They may change with the language data of the runtime. */
const NAMES = {
  currency: new Intl.DisplayNames('en', { type: 'currency' }),
  region: new Intl.DisplayNames('en', { type: 'region' }),
}

export async function listCurrencies(app: CatalogApp, merchant: Merchant) {
  const connections = await app.gateways.listForMerchant(merchant.id)
  const rails = connections.flatMap(({ gateway }) => gateway.rails)
  return CURRENCY_CODES.map((code) => {
    const { decimals, countries, countryRequired } = CURRENCIES[code]
    const served = rails.filter(({ currency }) => currency === code)
    const textOf = (minor: bigint | null) => (minor === null ? null : formatAmount(money(minor, code)))
    return {
      code,
      name: NAMES.currency.of(code) ?? code,
      decimals,
      minimum: textOf(minimumOf(served)),
      maximum: textOf(maximumOf(served)),
      countries,
      countryRequired,
    }
  })
}

/** A rail without a minimum accepts every amount from one minor unit. */
function minimumOf(rails: readonly Rail[]): bigint | null {
  const minimums = rails.map(({ minimumMinor }) => minimumMinor ?? 1n)
  return minimums.toSorted(compareBigints)[0] ?? null
}

/** Null if a rail has no maximum. */
function maximumOf(rails: readonly Rail[]): bigint | null {
  const maximums = rails.map(({ maximumMinor }) => maximumMinor).filter((one) => one !== undefined)
  return maximums.length < rails.length ? null : (maximums.toSorted(compareBigints).at(-1) ?? null)
}

const compareBigints = (one: bigint, other: bigint) => (one < other ? -1 : one > other ? 1 : 0)

export function listCountries() {
  const countries = uniqueSorted(CURRENCY_CODES.flatMap((code) => CURRENCIES[code].countries))
  return countries.map((code) => ({
    code,
    name: NAMES.region.of(code) ?? code,
    callingCode: callingCode(code),
    currencies: CURRENCY_CODES.filter((currency) => usesCurrency(code, currency)),
    networks: networksOf(code).map(serializeNetwork),
  }))
}

const serializeNetwork = ({ code, name }: Network) => ({ code, name })

const countriesOf = ({ currency, countries }: Rail): readonly string[] =>
  countries ?? CURRENCIES[currency].countries

const uniqueSorted = <Text extends string>(texts: readonly Text[]): Text[] => [...new Set(texts)].toSorted()
