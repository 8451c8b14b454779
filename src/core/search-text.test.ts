import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { referenceQueryOf, searchQueryOf, searchTextOf } from './search-text.ts'

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

describe('the query for pieces of a reference', () => {
  it('has the pieces that follow each other from each place where one may begin', () => {
    assert.equal(referenceQueryOf('er-12345'), `('er-' & '123') | ('r-1' & '234') | ('-12' & '345')`)
    assert.equal(referenceQueryOf('12345'), `('123') | ('234') | ('345')`)
    assert.equal(referenceQueryOf('aaaaaaa'), `('aaa') | ('aaa') | ('aaa')`)
  })

  it('has the beginning of a piece where the text ends before it does', () => {
    assert.equal(referenceQueryOf('1234'), `('123') | ('234') | ('34':*)`)
  })

  it('is of the longest run of characters that PostgreSQL folds in the same way everywhere', () => {
    assert.equal(referenceQueryOf('été-1234é'), referenceQueryOf('-1234'))
    assert.equal(referenceQueryOf('İ-1234'.toLowerCase()), referenceQueryOf('-1234'))
    assert.equal(referenceQueryOf('1234-İ'.toLowerCase()), referenceQueryOf('1234-'))
  })

  it('does not exist for a text that may have no whole piece', () => {
    for (const text of ['', 'a', '149', 'éàüñø', 'caféabc'])
      assert.equal(referenceQueryOf(text), undefined, text)
  })

  it('escapes quotes and backslashes', () => {
    assert.equal(referenceQueryOf(`n'1\\`), `('n''1') | ('''1\\\\') | ('1\\\\':*)`)
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
