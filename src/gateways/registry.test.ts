import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Gateway, Rail } from './gateway.ts'
import { createGateways } from './registry.ts'

const notHere = () => Promise.reject(new Error('not in this test'))

function gateway(name: string, rails: Rail[]): Gateway {
  const recovery = { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true }
  return {
    name,
    rails,
    recovery,
    startCheckout: notHere,
    verify: notHere,
    readWebhook: () => ({ kind: 'forged' }),
  }
}

const local = gateway('local', [
  { currency: 'XOF', countries: ['SN'], channels: ['mobile_money'] },
  { currency: 'XOF', countries: ['SN', 'CI'], channels: ['card', 'mobile_money'] },
])
const wide = gateway('wide', [{ currency: 'XOF', channels: ['card'] }])
const gateways = createGateways([local, wide])

const names = (currency: 'XOF' | 'KES', country: string | null) =>
  gateways.candidates(currency, country).map((candidate) => `${candidate.gateway.name} ${candidate.channels}`)

describe('the registry', () => {
  it('finds who serves a currency in a country, in order, each channel once', () => {
    assert.deepEqual(names('XOF', 'SN'), ['local mobile_money,card', 'wide card'])
    assert.deepEqual(names('XOF', 'ML'), ['wide card'])
    assert.deepEqual(names('KES', 'KE'), [])
  })

  it('takes a rail without countries for the countries of its currency only', () => {
    assert.deepEqual(names('XOF', 'KE'), [])
  })

  it('promises only rails without countries to a payment that names no country', () => {
    assert.deepEqual(names('XOF', null), ['wide card'])
  })

  it('throws for a name that it does not know, and for one that is taken twice', () => {
    assert.equal(gateways.get('wide'), wide)
    assert.throws(() => gateways.get('nobody'))
    assert.throws(() => createGateways([wide, wide]))
  })
})
