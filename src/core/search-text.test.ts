import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { searchQueryOf, searchTextOf } from './search-text.ts'

const MERCHANT = '0198c0de-0000-7000-8000-0123456789ab'

describe('what a text is looked up by', () => {
  it('covers the text with pieces of four characters that begin with the end of the merchant', () => {
    assert.equal(searchQueryOf(MERCHANT, 'amina'), `'456789abamin' & '456789abmina'`)
    assert.equal(searchQueryOf(MERCHANT, 'odhiambo'), `'456789abodhi' & '456789abambo'`)
  })

  it('is the beginning of a piece for a shorter text', () => {
    assert.equal(searchQueryOf(MERCHANT, 'zq'), `'456789abzq':*`)
    assert.equal(searchQueryOf(MERCHANT, '明'), `'456789ab明':*`)
  })

  it('leaves out how an e-mail ends, unless that is all there is', () => {
    assert.equal(searchQueryOf(MERCHANT, 'amina@example.com'), `'456789abamin' & '456789abina@'`)
    assert.equal(searchQueryOf(MERCHANT, '@exa'), `'456789ab@exa'`)
    assert.equal(searchQueryOf(MERCHANT, 'a@exam'), `'456789aba@ex' & '456789abexam'`)
  })

  it('takes quotes and backslashes as what they are', () => {
    assert.equal(searchQueryOf(MERCHANT, `n'`), `'456789abn''':*`)
    assert.equal(searchQueryOf(MERCHANT, `\\'`), `'456789ab\\\\''':*`)
  })

  it('counts characters as the database does', () => {
    assert.equal(searchQueryOf(MERCHANT, '👩🏽‍🔧a'), `'456789ab👩🏽‍🔧' & '456789ab🏽‍🔧a'`)
  })
})

describe('the text that a customer is found by', () => {
  it('keeps name and e-mail apart, in lower case', () => {
    assert.equal(
      searchTextOf({ firstname: 'Élodie', lastname: 'N’Diaye', email: 'Elodie@exemple.sn' }),
      'élodie n’diaye\nelodie@exemple.sn',
    )
  })
})
