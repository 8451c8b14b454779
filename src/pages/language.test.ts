import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseLanguage, languageCookies, languagesFromCookies } from './language.ts'

const NOTHING = { merchant: null, country: null }

describe('the language of a page', () => {
  it('follows the payer, then the merchant, the last choice, the browser and the country', () => {
    const hints = { chosen: 'sw', merchant: 'fr', last: 'pt', accept: 'ar', country: 'ET' }
    assert.equal(chooseLanguage(hints), 'sw')
    assert.equal(chooseLanguage({ ...hints, chosen: undefined }), 'fr')
    assert.equal(chooseLanguage({ ...hints, chosen: undefined, merchant: null }), 'pt')
    const firstVisit = { accept: 'ar', country: 'ET', merchant: null }
    assert.equal(chooseLanguage(firstVisit), 'ar')
    assert.equal(chooseLanguage({ ...firstVisit, accept: undefined }), 'am')
    assert.equal(chooseLanguage(NOTHING), 'en')
  })

  it('follows the weights of Accept-Language, whatever the region', () => {
    const accept = (header: string) => chooseLanguage({ ...NOTHING, accept: header })
    assert.equal(accept('de-DE,de;q=0.9,fr-CI;q=0.8,en;q=0.7'), 'fr')
    assert.equal(accept('en;q=0.2, bn-BD;q=0.9'), 'bn')
    assert.equal(accept('fr;q=0, PT'), 'pt')
    assert.equal(accept('*'), 'en')
    assert.equal(accept(';;;,,q=,é'), 'en')
  })

  it('is English for an unsupported language', () => {
    assert.equal(chooseLanguage({ ...NOTHING, chosen: '__proto__' }), 'en')
    assert.equal(chooseLanguage({ merchant: 'xx', country: 'KE' }), 'en')
  })

  it('is saved in a cookie for this checkout and for the next one, also at a link', () => {
    const cookies = languageCookies('fr', '/pay/abc')
    assert.deepEqual(
      cookies.map(({ path }) => path),
      ['/pay/abc', '/pay', '/l'],
    )
    const sent = Object.fromEntries(cookies.map(({ name, value }) => [name, value]))
    assert.deepEqual(languagesFromCookies(sent), { chosen: 'fr', last: 'fr' })
    assert.deepEqual(languagesFromCookies({}), { chosen: undefined, last: undefined })
  })
})
