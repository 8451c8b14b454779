import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CURRENCY_CODES, type Currency } from './currency.ts'
import { type Fee, feeOf, type Money, money } from './money.ts'

const feesOf = (fee: Fee, currency: Currency) => new Map([['sandbox', new Map([[currency, fee]])]])
const anyPaid = fc
  .tuple(fc.bigInt({ min: 1n, max: 99_999_999_999_999n }), fc.constantFrom(...CURRENCY_CODES))
  .map(([minor, currency]) => money(minor, currency))
const anyFee = fc.record({
  partsPerMillion: fc.bigInt({ min: 0n, max: 1_000_000n }),
  fixedMinor: fc.bigInt({ min: 0n, max: 1_000_000n }),
})

describe('the fee of a payment', () => {
  const fee = (paid: Money, rate: Fee) => feeOf(feesOf(rate, paid.currency), 'sandbox', paid)?.minor ?? -1n

  it('is a share, rounded half up to a whole minor unit, plus a fixed part', () => {
    const rate = { partsPerMillion: 15_000n, fixedMinor: 100n }
    assert.equal(fee(money(10_000n, 'NGN'), rate), 250n)
    assert.equal(fee(money(10_033n, 'NGN'), rate), 250n)
    assert.equal(fee(money(10_034n, 'NGN'), rate), 251n)
    assert.equal(fee(money(5_000n, 'XOF'), { partsPerMillion: 14_900n, fixedMinor: 0n }), 75n)
  })

  it('is at least zero and at most the payment, in any currency', () => {
    fc.assert(
      fc.property(anyPaid, anyFee, (paid, rate) => {
        const minor = fee(paid, rate)
        assert.ok(minor >= 0n && minor <= paid.minor)
      }),
    )
  })

  it('is unknown for a gateway or currency without a fee in the table', () => {
    const fees = feesOf({ partsPerMillion: 15_000n, fixedMinor: 100n }, 'NGN')
    assert.equal(feeOf(fees, 'sandbox', money(10_000n, 'KES')), null)
    assert.equal(feeOf(fees, 'other', money(10_000n, 'NGN')), null)
  })
})
