import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Currency } from '../../core/currency.ts'
import { LANGUAGE_CODES } from '../../core/languages.ts'
import { type Money, money } from '../../core/money.ts'
import { displayAmount } from '../../core/text/display-amount.ts'
import { readTypedAmount } from './amount.ts'

const kes = (minor: bigint): Money => money(minor, 'KES')

describe('an amount that a payer typed', () => {
  it('is parsed in the usual spellings', () => {
    const written: [string, bigint][] = [
      ['1250', 125_000n],
      ['1250.5', 125_050n],
      ['1250,50', 125_050n],
      ['1,250.50', 125_050n],
      ['1.250,50', 125_050n],
      ['1 250,50', 125_050n],
      ['1\u202f250,50', 125_050n],
      ["1'250.50", 125_050n],
      ['1,250', 125_000n],
      ['1.250', 125_000n],
      ['1,250,000', 125_000_000n],
      ['12,50,000', 125_000_000n],
      [' KES 99.90 ', 9_990n],
      ['99 kes', 9_900n],
      ['0.01', 1n],
      ['١٢٥٠٫٥٠', 125_050n],
      ['১২৫০.৫০', 125_050n],
      ['007', 700n],
    ]
    for (const [text, minor] of written) assert.deepEqual(readTypedAmount(text, 'KES'), kes(minor), text)
  })

  it('is refused if it is ambiguous, and never rounded', () => {
    const unclear = ['', ' ', 'ten', '-5', '0', '0.00', '1.2.3', '1,250,50', '1,250.500', '12.345,6.7']
    const halves = ['0.500', '0,500', '000.100', '00,10,000', '0.500,00', '٠٫٥٠٠']
    for (const text of [
      ...unclear,
      ...halves,
      '1e3',
      '5.',
      '.5',
      '1250.505',
      '9'.repeat(16),
      'NGN 5',
      '₦5',
      '5 5 KES x',
    ])
      assert.equal(readTypedAmount(text, 'KES'), undefined, text)
    assert.equal(readTypedAmount('5000.5', 'XOF'), undefined)
    assert.deepEqual(readTypedAmount('5.000', 'XOF'), money(5_000n, 'XOF'))
    assert.deepEqual(readTypedAmount('5000.00', 'XOF'), money(5_000n, 'XOF'))
  })

  it('is parsed in the format of our own pages, in every language', () => {
    const amounts = fc.bigInt({ min: 1n, max: 99_999_999_999_999n })
    fc.assert(
      fc.property(amounts, fc.constantFrom(...LANGUAGE_CODES), (minor, language) => {
        const shown = (currency: Currency) =>
          displayAmount(money(minor, currency), language).replaceAll(/[\u2066-\u2069]/g, '')
        assert.deepEqual(readTypedAmount(shown('KES'), 'KES'), kes(minor), shown('KES'))
        assert.deepEqual(readTypedAmount(shown('EGP'), 'EGP'), money(minor, 'EGP'), shown('EGP'))
        assert.deepEqual(readTypedAmount(shown('MZN'), 'MZN'), money(minor, 'MZN'), shown('MZN'))
      }),
    )
  })
})
