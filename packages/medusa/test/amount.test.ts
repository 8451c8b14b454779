import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CURRENCIES } from '../../../src/core/currency.ts'
import { toAmount } from '../src/amount.ts'

const textOf = (...input: Parameters<typeof toAmount>) => toAmount(...input).text

describe('an amount of Medusa', () => {
  it('is read from every form that Medusa passes', () => {
    assert.equal(textOf(1250.5, 'KES'), '1250.50')
    assert.equal(textOf('1250.50', 'KES'), '1250.50')
    assert.equal(textOf({ value: '1250.5' }, 'KES'), '1250.50')
    assert.equal(textOf({ raw: { value: '1250.5' }, numeric: 1 }, 'KES'), '1250.50')
    assert.equal(textOf({ numeric: 1250.5 }, 'KES'), '1250.50')
    assert.equal(textOf({ toFixed: () => '1250.5' }, 'KES'), '1250.50')
  })

  it('is rounded half up to the decimals of the currency, without binary fractions', () => {
    assert.equal(textOf('1.005', 'KES'), '1.01')
    assert.equal(textOf('1.00499999999999999999', 'KES'), '1.00')
    assert.equal(textOf('9.995', 'KES'), '10.00')
    assert.equal(textOf('0.07', 'KES'), '0.07')
    assert.equal(textOf('499.5', 'UGX'), '500')
    assert.equal(toAmount('1250.50', 'KES').number, 1250.5)
  })

  it('has the decimals that Cowry has, in every currency', () => {
    for (const [currency, { decimals }] of Object.entries(CURRENCIES))
      assert.equal(textOf('1', currency), decimals === 0 ? '1' : '1.00', currency)
  })

  it('is refused in what is not a currency', () => {
    for (const wrong of ['', 'K', 'KESX', '12'])
      assert.throws(() => toAmount('1', wrong), { type: 'invalid_data' }, wrong)
  })

  it('is refused if it is no amount, or has more digits than a JSON number', () => {
    for (const wrong of ['-1', '1e3', 'NaN', '', '1,5', Number.NaN, 1e21])
      assert.throws(() => toAmount(wrong, 'KES'), { type: 'invalid_data' }, String(wrong))
    assert.throws(() => toAmount('90071992547409931.01', 'KES'), { type: 'invalid_data' })
  })
})
