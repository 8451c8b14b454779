import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readLimits } from '../core/gateway-accounts/limits.ts'
import type { Rail } from './gateway.ts'
import { narrowRails, onlyCountryOf, servingRails, waysOf } from './rails.ts'

const RAILS: readonly Rail[] = [
  { currency: 'KES', channels: ['card', 'mobile_money'], minimumMinor: 300n, maximumMinor: 1_000_000n },
  { currency: 'USD', countries: ['NG', 'KE'], channels: ['card'] },
  { currency: 'XOF', channels: ['mobile_money'] },
]
const narrowed = (limits: Record<string, string>) => narrowRails(RAILS, readLimits(limits))

describe('the rails of an account with limits', () => {
  it('are those of the gateway without limits', () => {
    assert.deepEqual(narrowed({}), RAILS)
  })

  it('collect only in the countries of the account', () => {
    const places = narrowed({ countries: 'KE,SN' }).map(({ currency, countries }) => [currency, countries])
    assert.deepEqual(places, [
      ['KES', ['KE']],
      ['USD', ['KE']],
      ['XOF', ['SN']],
    ])
    assert.deepEqual(narrowed({ countries: 'FR' }), [])
  })

  it('collect only the currencies and channels of the account', () => {
    assert.deepEqual(narrowed({ currencies: 'XOF' }), [RAILS[2]])
    const channels = narrowed({ channels: 'card' }).map((rail) => [rail.currency, ...rail.channels])
    assert.deepEqual(channels, [
      ['KES', 'card'],
      ['USD', 'card'],
    ])
  })

  it('have the stricter of two limits of amounts', () => {
    const limitsOf = (amounts: string) => {
      const [kes] = narrowed({ amounts })
      return [kes?.minimumMinor, kes?.maximumMinor]
    }
    assert.deepEqual(limitsOf('KES:10-500'), [1_000n, 50_000n])
    assert.deepEqual(limitsOf('KES:1-250000'), [300n, 1_000_000n])
    assert.deepEqual(limitsOf('KES:-500'), [300n, 50_000n])
    assert.deepEqual(limitsOf('USD:5-'), [300n, 1_000_000n])
    assert.equal(narrowed({ amounts: 'USD:5-' })[1]?.minimumMinor, 500n)
  })

  it('tell the country of the account if it is one alone', () => {
    assert.equal(onlyCountryOf(narrowed({ countries: 'KE' })), 'KE')
    assert.equal(onlyCountryOf(narrowed({ countries: 'KE,SN' })), undefined)
    assert.equal(onlyCountryOf(RAILS), undefined)
    assert.equal(onlyCountryOf([]), undefined)
  })
})

describe('the rails of a payment', () => {
  it('take amounts from the minimum to the maximum', () => {
    const taken = (amountMinor: bigint) =>
      servingRails(RAILS, { currency: 'KES', country: 'KE', amountMinor }).length
    assert.deepEqual([299n, 300n, 1_000_000n, 1_000_001n].map(taken), [0, 1, 1, 0])
  })

  it('say how each channel is collected, and which networks are prompted', () => {
    const ways = waysOf(
      [
        {
          currency: 'KES',
          channels: ['mobile_money', 'bank_transfer'],
          prompts: true,
          networks: ['airtel_ke', 'mpesa_ke'],
        },
        { currency: 'KES', channels: ['mobile_money', 'card', 'direct_mobile_money'] },
        { currency: 'KES', channels: ['bank_transfer'], transfers: true },
      ],
      'KE',
    )
    assert.deepEqual(
      ways.map(({ channel, collection, networks }) => [
        channel,
        collection,
        networks.map(({ code }) => code),
      ]),
      [
        ['mobile_money', 'prompt', ['mpesa_ke', 'airtel_ke']],
        ['bank_transfer', 'transfer', []],
        ['card', 'page', []],
        ['direct_mobile_money', 'transfer', []],
      ],
    )
  })

  it('name the networks of a page that is of some networks only', () => {
    const networksOn = (networks?: string[]) =>
      waysOf([{ currency: 'XOF', channels: ['mobile_money'], ...(networks && { networks }) }], 'SN').map(
        (way) => [way.collection, way.networks.map(({ code }) => code)],
      )
    assert.deepEqual(networksOn(['wave_sn']), [['page', ['wave_sn']]])
    assert.deepEqual(networksOn(), [['page', []]])
  })
})
