import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isCountry } from './countries.ts'
import {
  CURRENCIES,
  CURRENCY_CODES,
  DEFAULT_CURRENCY,
  decimalsOf,
  defaultCountry,
  isCurrency,
  usesCurrency,
} from './currency.ts'

const PROMISED =
  'BDT BIF BWP CAD CDF EGP ETB EUR GBP GHS GMD KES LRD LSL MUR MWK MZN NGN RWF SLE SSP TZS UGX USD XAF XOF ZAR ZMW'

describe('the currencies', () => {
  it('are exactly those of the API, and USD is the default', () => {
    assert.deepEqual([...CURRENCY_CODES].sort(), PROMISED.split(' '))
    assert.equal(DEFAULT_CURRENCY, 'USD')
  })

  it('have no decimals in BIF, RWF, UGX, XAF and XOF, and two in the other 23', () => {
    assert.deepEqual(
      CURRENCY_CODES.filter((code) => decimalsOf(code) === 0),
      ['BIF', 'RWF', 'UGX', 'XAF', 'XOF'],
    )
    assert.equal(CURRENCY_CODES.filter((code) => decimalsOf(code) === 2).length, 23)
  })

  it('are recognised only by their exact code', () => {
    for (const text of ['usd', 'Usd', ' USD', 'XXX', '', 'toString', '__proto__', null, undefined, 840]) {
      assert.equal(isCurrency(text), false, String(text))
    }
    assert.ok(CURRENCY_CODES.every(isCurrency))
  })

  it('require a country only for XAF and XOF, whose countries each have their own rails', () => {
    assert.deepEqual(
      CURRENCY_CODES.filter((code) => CURRENCIES[code].countryRequired),
      ['XAF', 'XOF'],
    )
    assert.deepEqual([...CURRENCIES.XOF.countries].sort(), 'BF BJ CI GW ML NE SN TG'.split(' '))
    assert.deepEqual([...CURRENCIES.XAF.countries].sort(), 'CF CG CM GA GQ TD'.split(' '))
  })

  it('are each used in at least one country of ISO 3166-1', () => {
    for (const code of CURRENCY_CODES) {
      const countries: readonly string[] = CURRENCIES[code].countries
      assert.ok(countries.length > 0, code)
      for (const country of countries) {
        assert.ok(isCountry(country), country)
        assert.ok(usesCurrency(country, code))
      }
      assert.equal(new Set(countries).size, countries.length, code)
    }
    assert.equal(usesCurrency('KE', 'NGN'), false)
  })

  it('have a default country, except where that would be a guess', () => {
    assert.equal(defaultCountry('KES'), 'KE')
    assert.equal(defaultCountry('USD'), 'US')
    assert.equal(defaultCountry('ZAR'), 'ZA')
    for (const code of ['XAF', 'XOF', 'EUR'] as const) assert.equal(defaultCountry(code), null)
    for (const code of CURRENCY_CODES) {
      const country = defaultCountry(code)
      assert.ok(country === null || usesCurrency(country, code), code)
    }
  })
})

describe('country codes', () => {
  it('are the 249 of ISO 3166-1 and Kosovo, in either case', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
    const pairs = letters.flatMap((a) => letters.map((b) => a + b))
    assert.equal(pairs.filter(isCountry).length, 250)
    assert.ok(isCountry('ke') && isCountry('Ke') && isCountry('XK'))
    for (const text of ['', 'K', 'KEN', 'UK', 'EU', 'ZZ']) assert.equal(isCountry(text), false, text)
  })
})
