import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CURRENCY_CODES, type Currency } from '../currency.ts'
import { LANGUAGE_CODES, type Language } from '../languages.ts'
import { money } from '../money.ts'
import { displayAmount } from './display-amount.ts'
import { readTimeZone, timeFormats } from './display-time.ts'

const shown = (minor: bigint, currency: Currency, language: Language) =>
  displayAmount(money(minor, currency), language).replaceAll(/[\u00a0\u202f]/g, ' ')

describe('amounts on a page', () => {
  it('have the symbol of the currency and the separators of the language', () => {
    const amounts = LANGUAGE_CODES.map((language) => shown(123_456_750n, 'KES', language))
    assert.deepEqual(amounts, [
      'KSh 1,234,567.50',
      'KSh 1 234 567,50',
      'KSh 1 234 567,50',
      'KSh 1,234,567.50',
      '\u2068KSh 1,234,567.50\u2069',
      'KSh 1,234,567.50',
      'KSh 12,34,567.50',
    ])
  })

  it('are written as in the country', () => {
    assert.equal(shown(150_000n, 'KES', 'en'), 'KSh 1,500')
    assert.equal(shown(500_000n, 'NGN', 'en'), '₦5,000')
    assert.equal(shown(5_000n, 'XOF', 'fr'), '5 000 F CFA')
    assert.equal(shown(5_000n, 'XAF', 'en'), '5,000 F CFA')
    assert.equal(shown(99_000n, 'BDT', 'bn'), '৳990')
    assert.equal(shown(35_000n, 'EGP', 'ar'), '\u2068350.00 ج.م\u2069')
    assert.equal(shown(35_000n, 'EGP', 'en'), 'EGP 350.00')
    assert.equal(shown(35_000n, 'ETB', 'am'), '350 ብር')
    assert.equal(shown(125_000n, 'MZN', 'pt'), '1 250,00 MT')
    assert.equal(shown(1_250n, 'EUR', 'fr'), '12,50 €')
    assert.equal(shown(1_250n, 'EUR', 'en'), '€12.50')
    assert.equal(shown(1_200n, 'USD', 'en'), 'US$12.00')
    assert.equal(shown(5_000n, 'GHS', 'en'), 'GH₵50.00')
  })

  it('keep every digit, have Latin digits alone, and never wrap', () => {
    for (const language of LANGUAGE_CODES)
      for (const currency of CURRENCY_CODES)
        for (const minor of [99_999_999_999_999n, 100n, 1n, 120_050n]) {
          const text = displayAmount(money(minor, currency), language)
          assert.doesNotMatch(text, / /, `${language} ${currency}`)
          assert.doesNotMatch(text, /[\u0660-\u0669\u06f0-\u06f9\u09e6-\u09ef]/, `${language} ${currency}`)
          const digits = text.replaceAll(/\D/g, '').replace(/^0+/, '')
          assert.ok([`${minor}`, `${minor}`.replace(/00$/, '')].includes(digits), `${text} of ${minor}`)
        }
  })
})

describe('times on a page', () => {
  const at = new Date('2026-11-14T22:32:00Z')

  it('are in the zone and the date order of the country', () => {
    assert.equal(timeFormats('en', 'KE', null).time(at), '15 Nov 2026, 01:32')
    assert.equal(timeFormats('en', 'SN', null).time(at), '14 Nov 2026, 22:32')
    assert.equal(timeFormats('en', 'US', null).time(at), 'Nov 14, 2026, 17:32 EST')
    assert.equal(timeFormats('fr', 'CI', null).timeOfDay(at), '22:32')
  })

  it('name the zone where the zone of the payer is not certain', () => {
    assert.equal(timeFormats('en', null, null).timeOfDay(at), '22:32 UTC')
    assert.match(timeFormats('fr', 'CD', null).timeOfDay(at), /^23:32 heure d’Afrique de l’Ouest$/)
    assert.equal(timeFormats('en', 'US', 'America/Chicago').timeOfDay(at), '16:32')
  })

  it('name the zone on a receipt in words, not as an offset', () => {
    assert.equal(timeFormats('en', 'KE', null).timeWithZone(at), '15 Nov 2026, 01:32 EAT')
    for (const language of LANGUAGE_CODES)
      assert.doesNotMatch(timeFormats(language, 'BD', null).timeWithZone(at), /[+−]\d/, language)
  })

  it('have Latin digits, the Gregorian year and 24 hours in every language', () => {
    for (const language of LANGUAGE_CODES) {
      const text = timeFormats(language, 'ET', null).time(at)
      for (const part of [/15/, /2026/, /0?1:32/]) assert.match(text, part, `${language}: ${text}`)
    }
  })
})

describe('the time zone of a device', () => {
  it('is taken if it exists, and otherwise ignored', () => {
    assert.equal(readTimeZone('Africa/Lagos'), 'Africa/Lagos')
    assert.equal(readTimeZone('Asia/Calcutta'), 'Asia/Calcutta')
    for (const text of [undefined, '', 'Mars/Base', 'x'.repeat(65), '<b>', 'undefined'])
      assert.equal(readTimeZone(text), null, String(text))
  })
})
