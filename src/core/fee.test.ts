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

  it('is that of the gateway for an account with a label, unless the account has its own', () => {
    const rate = (fixedMinor: bigint): Fee => ({ partsPerMillion: 0n, fixedMinor })
    const fees = new Map([
      [
        'acme',
        new Map<Currency, Fee>([
          ['KES', rate(5n)],
          ['NGN', rate(6n)],
        ]),
      ],
      ['acme_ke', new Map<Currency, Fee>([['KES', rate(7n)]])],
    ])
    const minor = (gateway: string, currency: Currency) =>
      feeOf(fees, gateway, money(1_000n, currency))?.minor
    assert.deepEqual(
      [minor('acme_ke', 'KES'), minor('acme_ke', 'NGN'), minor('acme_ng', 'KES')],
      [7n, 6n, 5n],
    )
    assert.equal(minor('acme2', 'KES'), undefined)
  })

  it('is unknown for a gateway or currency without a fee in the table', () => {
    const fees = feesOf({ partsPerMillion: 15_000n, fixedMinor: 100n }, 'NGN')
    assert.equal(feeOf(fees, 'sandbox', money(10_000n, 'KES')), null)
    assert.equal(feeOf(fees, 'other', money(10_000n, 'NGN')), null)
  })
})
