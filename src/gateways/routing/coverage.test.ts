import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GATEWAYS } from '../../compose/gateways.ts'
import { CURRENCY_CODES } from '../../core/currency.ts'
import { coverageOf, currenciesWithoutLocalGateway } from './coverage.ts'

const PLACES = coverageOf(GATEWAYS)
const waysIn = (currency: string, country: string) =>
  PLACES.find((place) => place.currency === currency && place.countries.includes(country))?.ways ?? []

describe('the coverage of currencies', () => {
  it('has every currency, and each of its countries once', () => {
    assert.deepEqual([...new Set(PLACES.map(({ currency }) => currency))], [...CURRENCY_CODES])
    for (const currency of CURRENCY_CODES) {
      const countries = PLACES.filter((place) => place.currency === currency).flatMap((one) => one.countries)
      assert.equal(new Set(countries).size, countries.length)
    }
  })

  it('separates local ways from cards that are charged from abroad', () => {
    const cards = waysIn('KES', 'KE').filter(({ channel }) => channel === 'card')
    const namesOf = (isLocal: boolean) =>
      cards
        .filter((way) => way.isLocal === isLocal)
        .flatMap(({ gateways }) => gateways.map(({ name }) => name))
    assert.ok(namesOf(true).includes('paystack'))
    assert.deepEqual(namesOf(false), ['stripe'])
    assert.ok(waysIn('CAD', 'CA').every(({ isLocal }) => isLocal))
  })

  it('shows p2p only where no gateway has a local way', () => {
    for (const { currency, ways } of PLACES) {
      const isCovered = ways.some(({ isLocal, channel }) => isLocal && !channel.startsWith('direct_'))
      const hasP2p = ways.some(({ channel }) => channel === 'direct_mobile_money')
      assert.ok(!(isCovered && hasP2p), currency)
    }
    assert.deepEqual(
      waysIn('BIF', 'BI').map(({ channel }) => channel),
      ['card', 'direct_mobile_money'],
    )
  })

  it('has local ways for 25 of 28 currencies through gateways; BIF, BWP and MUR have them by p2p', () => {
    const withoutGateway = currenciesWithoutLocalGateway(PLACES)
    assert.deepEqual(withoutGateway, ['BIF', 'BWP', 'MUR'])
    for (const currency of withoutGateway) {
      const local = PLACES.filter((place) => place.currency === currency)
        .flatMap(({ ways }) => ways)
        .filter(({ isLocal }) => isLocal)
      assert.deepEqual(
        local.map(({ channel, gateways: [gateway] }) => [channel, gateway?.name]),
        [['direct_mobile_money', 'p2p']],
        currency,
      )
    }
  })

  it('has a local way for at least 26 of 28 currencies', () => {
    const hasLocalWay = (currency: string) =>
      PLACES.some((place) => place.currency === currency && place.ways.some(({ isLocal }) => isLocal))
    const without = CURRENCY_CODES.filter((currency) => !hasLocalWay(currency))
    assert.ok(CURRENCY_CODES.length - without.length >= 26, `without a local way: ${without.join(', ')}`)
    assert.ok(!without.includes('BIF'))
  })

  it('finds the currencies without a local gateway', () => {
    const withoutStripe = GATEWAYS.filter(({ name }) => name !== 'stripe')
    assert.ok(!currenciesWithoutLocalGateway(PLACES).includes('CAD'))
    assert.ok(currenciesWithoutLocalGateway(coverageOf(withoutStripe)).includes('CAD'))
    assert.ok(currenciesWithoutLocalGateway(PLACES).includes('BIF'))
  })
})
