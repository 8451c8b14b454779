import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CURRENCY_CODES, type Currency, decimalsOf } from './currency.ts'
import { add, equals, formatAmount, type Money, money, parseAmount, shareOf, subtract } from './money.ts'

const MAX_HUNDREDTHS = 99_999_999_999_999n

const anyCurrency = fc.constantFrom(...CURRENCY_CODES)
const maxMinor = (currency: Currency) => (decimalsOf(currency) === 0 ? MAX_HUNDREDTHS / 100n : MAX_HUNDREDTHS)
/** Every amount that the API accepts, small ones as often as large ones. */
const anyMoney = anyCurrency.chain((currency) =>
  fc
    .oneof(
      fc.bigInt({ min: 1n, max: 1_000n }),
      fc.bigInt({ min: 1n, max: maxMinor(currency) }),
      fc.bigInt({ min: maxMinor(currency) - 1_000n, max: maxMinor(currency) }),
    )
    .map((minor) => money(minor, currency)),
)

describe('an amount in a request (F-65)', () => {
  it('becomes exactly the minor units of its decimal text, in all 28 currencies', () => {
    assert.equal(CURRENCY_CODES.length, 28)
    for (const currency of CURRENCY_CODES) {
      const amounts = fc.bigInt({ min: 1n, max: maxMinor(currency) })
      fc.assert(
        fc.property(amounts, (minor) => {
          const amount = money(minor, currency)
          assert.deepEqual(parseAmount(Number(formatAmount(amount)), currency), amount)
        }),
        { examples: [[1n], [maxMinor(currency)], [maxMinor(currency) - 1n]] },
      )
    }
  })

  it('is never rounded: every number is either rejected or returned to the digit', () => {
    const anyNumber = fc.oneof(
      fc.double(),
      fc.double({ min: 0, max: 1e13, noNaN: true }),
      fc.integer({ min: 1, max: 10_000_000 }).map((thousandths) => thousandths / 1000),
      fc.constantFrom(8.2 * 100, 0.1 + 0.2, 1.005, 10.005, 1e21, 1e-7, Number.MIN_VALUE, Number.MAX_VALUE),
    )
    fc.assert(
      fc.property(anyNumber, anyCurrency, (number, currency) => {
        const amount = parseAmount(number, currency)
        if (typeof amount === 'string') return
        assert.equal(Number(formatAmount(amount)), number)
        assert.ok(amount.minor > 0n && amount.minor <= maxMinor(currency))
      }),
      { numRuns: 2_000 },
    )
  })

  it('is rejected with amount_precision when it has more decimals than the currency', () => {
    const tooFine = (currency: Currency) =>
      fc
        .tuple(fc.integer({ min: 0, max: 999_999 }), fc.integer({ min: 1, max: 9 }))
        .map(([units, last]) => Number(`${units}.${'0'.repeat(decimalsOf(currency))}${last}`))
    for (const currency of CURRENCY_CODES) {
      fc.assert(
        fc.property(tooFine(currency), (number) => parseAmount(number, currency) === 'amount_precision'),
      )
    }
    assert.equal(parseAmount(10.005, 'USD'), 'amount_precision')
    assert.equal(parseAmount(0.5, 'XOF'), 'amount_precision')
    assert.equal(parseAmount(1e-7, 'USD'), 'amount_precision')
  })

  it('is rejected with amount_out_of_range when it is not above 0, above 999,999,999,999.99 or not a number', () => {
    const wrong = [0, -0, -1, -0.01, Number.NaN, Infinity, -Infinity, 1e12, 1e21, 1e308, 999_999_999_999.995]
    for (const number of wrong) {
      for (const currency of CURRENCY_CODES) {
        assert.equal(parseAmount(number, currency), 'amount_out_of_range', `${number} ${currency}`)
      }
    }
    assert.deepEqual(parseAmount(999_999_999_999.99, 'USD'), money(MAX_HUNDREDTHS, 'USD'))
    assert.deepEqual(parseAmount(999_999_999_999, 'XOF'), money(999_999_999_999n, 'XOF'))
  })
})

describe('an amount in a response', () => {
  it('has two decimals in every currency', () => {
    fc.assert(fc.property(anyMoney, (amount) => /^\d+\.\d\d$/.test(formatAmount(amount))))
    assert.equal(formatAmount(money(5_000n, 'XOF')), '5000.00')
    assert.equal(formatAmount(money(125_050n, 'KES')), '1250.50')
    assert.equal(formatAmount(money(7n, 'USD')), '0.07')
    assert.equal(formatAmount(money(0n, 'UGX')), '0.00')
  })

  it('starts with one minus sign when it is negative', () => {
    assert.equal(formatAmount(money(-7n, 'USD')), '-0.07')
    assert.equal(formatAmount(money(-7n, 'RWF')), '-7.00')
  })
})

describe('money', () => {
  const pair = anyCurrency.chain((currency) =>
    fc
      .tuple(fc.bigInt(), fc.bigInt())
      .map(([a, b]): [Money, Money] => [money(a, currency), money(b, currency)]),
  )

  it('is unchanged after adding and subtracting the same amount, in any order', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        assert.ok(equals(subtract(add(a, b), b), a))
        assert.ok(equals(add(a, b), add(b, a)))
      }),
    )
  })

  it('cannot be added to or subtracted from money of another currency', () => {
    const a = money(100n, 'USD')
    const b = money(100n, 'KES')
    assert.throws(() => add(a, b), /cannot mix USD with KES/)
    assert.throws(() => subtract(a, b), /cannot mix/)
    assert.equal(equals(a, b), false)
  })

  it('is rounded half up when a share of it is computed', () => {
    const share = fc.bigInt({ min: 0n, max: 1_000_000n })
    fc.assert(
      fc.property(anyMoney, share, (amount, partsPerMillion) => {
        const { minor, currency } = shareOf(amount, partsPerMillion)
        const error = minor * 1_000_000n - amount.minor * partsPerMillion
        assert.equal(currency, amount.currency)
        assert.ok(error > -500_000n && error <= 500_000n, `off by ${error} millionths`)
        assert.ok(minor >= 0n && minor <= amount.minor)
      }),
    )
    assert.equal(shareOf(money(50n, 'USD'), 10_000n).minor, 1n)
    assert.equal(shareOf(money(49n, 'USD'), 10_000n).minor, 0n)
    assert.equal(shareOf(money(150n, 'USD'), 10_000n).minor, 2n)
  })
})
