import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Currency } from '../core/currency.ts'
import type { Gateway, Rail } from './gateway.ts'
import { fixedGateways } from './registry.ts'

const notHere = () => Promise.reject(new Error('not in this test'))

function gateway(name: string, rails: Rail[]): Gateway {
  const behavior = { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true }
  return {
    name,
    rails,
    behavior,
    startCheckout: notHere,
    verify: notHere,
    parseWebhook: () => ({ kind: 'forged' }),
  }
}

const local = gateway('local', [
  { currency: 'XOF', countries: ['SN'], channels: ['mobile_money'] },
  { currency: 'XOF', countries: ['SN', 'CI'], channels: ['card', 'mobile_money'] },
])
const wide = gateway('wide', [{ currency: 'XOF', channels: ['card'] }])
const coarse = gateway('coarse', [
  { currency: 'KES', channels: ['card'], minimumMinor: 500n },
  { currency: 'KES', channels: ['mobile_money'], stepMinor: 100n },
])
const gateways = fixedGateways([local, wide, coarse])
const MERCHANT = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

async function names(currency: Currency, country: string | null, amountMinor = 1000n): Promise<string[]> {
  const candidates = await gateways.candidates(MERCHANT, { currency, country, amountMinor, key: 'order-1' })
  return candidates.map((candidate) => `${candidate.gateway.name} ${candidate.channels}`)
}

describe('the registry', () => {
  it('lists the gateways that collect a currency in a country, in order, each channel once', async () => {
    assert.deepEqual(await names('XOF', 'SN'), ['local mobile_money,card', 'wide card'])
    assert.deepEqual(await names('XOF', 'ML'), ['wide card'])
    assert.deepEqual(await names('ZMW', 'ZM'), [])
  })

  it('applies a rail without countries only to the countries of its currency', async () => {
    assert.deepEqual(await names('XOF', 'KE'), [])
  })

  it('offers only rails without countries to a payment without a country', async () => {
    assert.deepEqual(await names('XOF', null), ['wide card'])
  })

  it('leaves out rails that cannot take the amount', async () => {
    assert.deepEqual(await names('KES', 'KE', 1_000n), ['coarse card,mobile_money'])
    assert.deepEqual(await names('KES', 'KE', 400n), ['coarse mobile_money'])
    assert.deepEqual(await names('KES', 'KE', 550n), ['coarse card'])
    assert.deepEqual(await names('KES', 'KE', 50n), [])
  })

  it('throws for an unknown gateway name, and for a name that is used twice', async () => {
    assert.equal(await gateways.get(MERCHANT, 'wide', null), wide)
    assert.equal(await gateways.find(MERCHANT, 'missing', null), undefined)
    await assert.rejects(gateways.get(MERCHANT, 'missing', null), /missing is not configured here/)
    assert.throws(() => fixedGateways([wide, wide]), /two gateways are named wide/)
  })
})
