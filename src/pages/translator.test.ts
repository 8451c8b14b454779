import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CURRENCY_CODES } from '../core/currency.ts'
import { LANGUAGE_CODES } from '../core/languages.ts'
import { money } from '../core/money.ts'
import { html } from '../kit/http/html.ts'
import { translatorFor } from './translator.ts'

const NBSP = '\u00a0'

describe('amounts on a page', () => {
  it('are formatted for each language, with the currency code and Latin digits', () => {
    const shown = (language: (typeof LANGUAGE_CODES)[number]) =>
      translatorFor(language, 'KE')
        .amount(money(123_456_750n, 'KES'))
        .replaceAll(/[\u00a0\u202f]/g, ' ')
    assert.equal(shown('en'), 'KES 1,234,567.50')
    assert.equal(shown('fr'), '1 234 567,50 KES')
    assert.equal(shown('pt'), '1 234 567,50 KES')
    assert.equal(shown('sw'), 'KES 1,234,567.50')
    assert.equal(shown('ar'), '\u2068KES 1,234,567.50\u2069')
    assert.equal(shown('am'), 'KES 1,234,567.50')
    assert.match(shown('bn'), /^12,34,567\.50\s?KES$/)
  })

  it('never wrap, and never show digits that the operator does not show', () => {
    for (const language of LANGUAGE_CODES)
      for (const currency of CURRENCY_CODES) {
        const text = translatorFor(language, null).amount(money(99_999_999_999_999n, currency))
        assert.doesNotMatch(text, / /, `${language} ${currency}`)
        assert.match(
          text.replaceAll(/[\u2068\u2069]/g, ''),
          /^[\d.,A-Z\u00a0\u202f]+$/,
          `${language} ${currency}`,
        )
      }
    assert.equal(translatorFor('en', 'KE').amount(money(125_050n, 'KES')), `KES${NBSP}1,250.50`)
  })
})

describe('times on a page', () => {
  const at = new Date('2026-11-14T22:32:00Z')

  it('are in the time zone of the country, and name it', () => {
    assert.equal(translatorFor('en', 'KE').time(at), 'Nov 15, 2026, 01:32 GMT+3')
    assert.equal(translatorFor('en', 'NG').timeOfDay(at), '23:32 GMT+1')
    assert.equal(translatorFor('en', null).timeOfDay(at), '22:32 UTC')
  })

  it('have Latin digits, the Gregorian year and 24 hours in every language', () => {
    for (const language of LANGUAGE_CODES) {
      const text = translatorFor(language, 'ET').time(at)
      assert.match(text, /15/, `${language}: ${text}`)
      assert.match(text, /2026/, `${language}: ${text}`)
      assert.match(text, /0?1:32/, `${language}: ${text}`)
    }
  })
})

describe('a sentence with markup in it', () => {
  it('stays complete around the markup, and everything else is escaped', () => {
    const rendered = translatorFor('en', null).withMarkup(
      'payTitle',
      { merchant: '<b>' },
      'amount',
      html`<i>1</i>`,
    )
    assert.equal(String(rendered), 'Pay <i>1</i> to &lt;b&gt;')
    const odd = translatorFor('am', null).withMarkup(
      'payTitle',
      { merchant: 'A\ue000B' },
      'amount',
      html`<i>1</i>`,
    )
    assert.equal(String(odd), 'ለAB <i>1</i> ይክፈሉ', 'whatever a merchant calls itself')
  })

  it('has no unpaired isolation mark on either side of the markup', () => {
    const rendered = translatorFor('ar', null).withMarkup(
      'payTitle',
      { merchant: 'A' },
      'amount',
      html`<i>1</i>`,
    )
    assert.equal(String(rendered), 'ادفع <i>1</i> إلى \u2068A\u2069')
  })
})
