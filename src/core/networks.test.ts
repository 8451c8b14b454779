import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { timeZoneOf } from './countries.ts'
import { SERVED_COUNTRIES } from './currency.ts'
import { findNetwork, guessNetwork, networksOf } from './networks.ts'

const COUNTRIES = SERVED_COUNTRIES
const NETWORKS = COUNTRIES.flatMap((country) => networksOf(country))

describe('the mobile-money networks', () => {
  it('list the largest network of a country first', () => {
    assert.deepEqual(
      networksOf('KE').map(({ name }) => name),
      ['M-Pesa', 'Airtel Money', 'Equitel', 'T-Kash'],
    )
    assert.equal(networksOf('UG')[0]?.code, 'mtn_ug')
  })

  it('are none where mobile money is not used or the country is unknown', () => {
    assert.deepEqual(networksOf('DE'), [])
    assert.deepEqual(networksOf('toString'), [])
    assert.deepEqual(networksOf(null), [])
  })

  it('have unique codes', () => {
    assert.ok(NETWORKS.length > 80)
    assert.equal(new Set(NETWORKS.map(({ code }) => code)).size, NETWORKS.length)
    for (const network of NETWORKS) {
      assert.equal(findNetwork(network.code), network)
      assert.match(network.code, /^[a-z]{2,16}_[a-z]{2}$/)
    }
    assert.equal(findNetwork('mpesa_xx'), undefined)
  })

  it('share no prefix within a country', () => {
    for (const country of COUNTRIES) {
      const prefixes = networksOf(country).flatMap((network) => network.prefixes)
      assert.equal(new Set(prefixes).size, prefixes.length, country)
      for (const prefix of prefixes) assert.match(prefix, /^\d{1,4}$/, country)
    }
  })

  it('have menu codes that can be dialled', () => {
    for (const { code, ussd } of NETWORKS) if (ussd !== null) assert.match(ussd, /^[*#]\d+(\*\d+)*#$/, code)
  })
})

describe('guessing the network of a number', () => {
  it('uses the prefix of the number', () => {
    assert.equal(guessNetwork('+254712345678', 'KE')?.code, 'mpesa_ke')
    assert.equal(guessNetwork('+254733345678', 'KE')?.code, 'airtel_ke')
    assert.equal(guessNetwork('+256752345678', 'UG')?.code, 'airtel_ug')
    assert.equal(guessNetwork('+2250701234567', 'CI')?.code, 'orange_ci')
  })

  it('prefers the longest prefix', () => {
    assert.equal(guessNetwork('+26774123456', 'BW')?.code, 'myzaka_bw')
    assert.equal(guessNetwork('+26774323456', 'BW')?.code, 'orange_bw')
    assert.equal(guessNetwork('+2290150123456', 'BJ')?.code, 'mtn_bj')
    assert.equal(guessNetwork('+2290155123456', 'BJ')?.code, 'moov_bj')
  })

  it('returns undefined for a foreign number, an unassigned prefix, or a country without networks', () => {
    assert.equal(guessNetwork('+256752345678', 'KE'), undefined)
    assert.equal(guessNetwork('+254747345678', 'KE'), undefined)
    assert.equal(guessNetwork('+4915123456789', 'DE'), undefined)
    assert.equal(guessNetwork('+8801712345678', 'BD'), undefined)
  })
})

describe('the time zone of a payer', () => {
  it('is valid for every country of every currency', () => {
    for (const country of COUNTRIES) {
      assert.notEqual(timeZoneOf(country), 'UTC', country)
      assert.doesNotThrow(() => new Intl.DateTimeFormat('en', { timeZone: timeZoneOf(country) }), country)
    }
    assert.equal(timeZoneOf('CD'), 'Africa/Kinshasa')
  })

  it('is UTC when the country is unknown', () => {
    assert.equal(timeZoneOf(null), 'UTC')
    assert.equal(timeZoneOf('AQ'), 'UTC')
  })
})
