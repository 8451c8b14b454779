import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { searchQueryOf, searchTextOf } from './search-text.ts'

const MERCHANT = '0198c0de-0000-7000-8000-0123456789ab'

describe('the n-gram query of a search text', () => {
  it('covers the text with n-grams of four characters, each prefixed with the end of the merchant id', () => {
    assert.equal(searchQueryOf(MERCHANT, 'amina'), `'456789abamin' & '456789abmina'`)
    assert.equal(searchQueryOf(MERCHANT, 'odhiambo'), `'456789abodhi' & '456789abambo'`)
  })

  it('is a prefix query for a text of less than four characters', () => {
    assert.equal(searchQueryOf(MERCHANT, 'zq'), `'456789abzq':*`)
    assert.equal(searchQueryOf(MERCHANT, '明'), `'456789ab明':*`)
  })

  it('omits the domain of an e-mail unless the text has nothing else', () => {
    assert.equal(searchQueryOf(MERCHANT, 'amina@example.com'), `'456789abamin' & '456789abina@'`)
    assert.equal(searchQueryOf(MERCHANT, '@exa'), `'456789ab@exa'`)
    assert.equal(searchQueryOf(MERCHANT, 'a@exam'), `'456789aba@ex' & '456789abexam'`)
  })

  it('escapes quotes and backslashes', () => {
    assert.equal(searchQueryOf(MERCHANT, `n'`), `'456789abn''':*`)
    assert.equal(searchQueryOf(MERCHANT, `\\'`), `'456789ab\\\\''':*`)
  })

  it('counts characters as PostgreSQL does', () => {
    assert.equal(searchQueryOf(MERCHANT, '👩🏽‍🔧a'), `'456789ab👩🏽‍🔧' & '456789ab🏽‍🔧a'`)
  })
})

describe('the search text of a customer', () => {
  it('separates name and e-mail, in lower case', () => {
    assert.equal(
      searchTextOf({ firstname: 'Élodie', lastname: 'N’Diaye', email: 'Elodie@exemple.sn' }),
      'élodie n’diaye\nelodie@exemple.sn',
    )
  })
})
