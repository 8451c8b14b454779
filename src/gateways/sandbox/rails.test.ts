import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CURRENCY_CODES } from '../../core/currency.ts'
import type { Rail } from '../gateway.ts'
import { servingRails, waysOf } from '../rails.ts'
import { sandboxRails } from './rails.ts'

const CONNECTORS: readonly Rail[] = [
  { currency: 'KES', channels: ['card'], minimumMinor: 50n, maximumMinor: 1_000n },
  { currency: 'KES', countries: ['KE'], channels: ['mobile_money'], prompts: true, networks: ['mpesa_ke'] },
]
const OF_MERCHANT: readonly Rail[] = [
  {
    ...{ currency: 'KES', channels: ['bank_transfer'], transfers: true },
    ...{ minimumMinor: 100n, maximumMinor: 25_000_000n, stepMinor: 100n },
  },
]

function waysWith(
  ways: Parameters<typeof sandboxRails>[0],
  ofMerchant: readonly Rail[] = [],
  amountMinor = 1n,
) {
  const rails = sandboxRails(ways, CONNECTORS)(ofMerchant)
  const serving = servingRails(rails, { currency: 'KES', country: 'KE', amountMinor })
  return waysOf(serving, 'KE').map(({ channel, collection, networks }) =>
    [channel, collection, ...networks.map(({ code }) => code)].join(' '),
  )
}

describe('the rails of the sandbox', () => {
  it('collect every channel in every currency, unless the setting narrows them', () => {
    const rails = sandboxRails('all', CONNECTORS)(OF_MERCHANT)
    assert.deepEqual(
      rails.map(({ currency }) => currency),
      [...CURRENCY_CODES],
    )
    const channels = waysWith('all', OF_MERCHANT).map((way) => way.split(' ').slice(0, 2).join(' '))
    assert.deepEqual(channels, ['card page', 'mobile_money prompt', 'bank_transfer transfer'])
  })

  it('mark the channels and networks that no connector collects in the place', () => {
    const marks = (rails: readonly Rail[], country: string | null) =>
      waysOf(servingRails(rails, { currency: 'KES', country, amountMinor: 1n }), country).map(
        ({ channel, testOnly }) => [channel, testOnly ?? null],
      )
    const all = sandboxRails('all', CONNECTORS)([])
    assert.deepEqual(marks(all, 'KE'), [
      ['card', null],
      ['mobile_money', { channel: false, networks: ['airtel_ke', 'equitel_ke', 'tkash_ke'] }],
      ['bank_transfer', { channel: true, networks: [] }],
    ])
    assert.deepEqual(marks(all, null), [
      ['card', null],
      ['mobile_money', { channel: true, networks: [] }],
      ['bank_transfer', { channel: true, networks: [] }],
    ])
    const page: Rail = { currency: 'KES', channels: ['mobile_money'] }
    assert.equal(marks(sandboxRails('all', [page])([]), 'KE')[1]?.[1], null, 'a page reaches every network')
    const narrowed = sandboxRails('connectors', CONNECTORS)([])
    assert.ok(marks(narrowed, 'KE').every(([, mark]) => mark === null))
  })

  it('are those of the connectors, in any amount', () => {
    const expected = ['card page', 'mobile_money prompt mpesa_ke']
    assert.deepEqual(waysWith('connectors', OF_MERCHANT), expected)
    assert.deepEqual(waysWith('configured'), expected, 'the merchant has no gateway')
  })

  it('are those of the gateways that the merchant has configured, in the amounts that they take', () => {
    const served = (amountMinor: bigint) => waysWith('configured', OF_MERCHANT, amountMinor)
    for (const amount of [100n, 1_100n, 25_000_000n])
      assert.deepEqual(served(amount), ['bank_transfer transfer'], `${amount}`)
    for (const amount of [50n, 1_050n, 25_000_100n]) assert.deepEqual(served(amount), [], `${amount}`)
  })
})
