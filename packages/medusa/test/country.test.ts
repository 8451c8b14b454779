import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CURRENCIES } from '../../../src/core/currency.ts'
import { countryFor } from '../src/country.ts'

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const CODES = LETTERS.flatMap((first) => LETTERS.map((second) => first + second))

describe('the country of a payment', () => {
  it('is sent for exactly the currencies that require one, from the countries that use them', () => {
    for (const [currency, { countries, countryRequired }] of Object.entries(CURRENCIES)) {
      const sent = CODES.filter((country) => countryFor(currency, [country]) !== undefined)
      assert.deepEqual(sent.toSorted(), countryRequired ? [...countries].toSorted() : [], currency)
    }
  })

  it('is the first one that uses the currency, in capital letters', () => {
    assert.equal(countryFor('XOF', ['de', null, undefined, 'sn', 'ci']), 'SN')
  })
})
