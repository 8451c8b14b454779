import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Currency, decimalsOf } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import { fromMajor, toMajor } from '../../../src/gateways/flutterwave/amounts.ts'
import { FLUTTERWAVE } from '../../../src/gateways/flutterwave/index.ts'
import { readFixture } from './fake.ts'
import { CREDENTIAL, makeAttempt, RETURN_URL, startFixedServer, verifyAnswer } from './rig.ts'

/** The smallest amount, 1, 1234 and the largest of the API: our minor units, and the text on the wire. */
const HUNDREDTHS = [
  [1n, '0.01'],
  [100n, '1'],
  [123_400n, '1234'],
  [99_999_999_999_999n, '999999999999.99'],
] as const
const WHOLE = [
  [1n, '1'],
  [1_234n, '1234'],
  [999_999_999_999n, '999999999999'],
] as const

const CURRENCIES: readonly Currency[] = [
  ...(['EGP', 'EUR', 'GBP', 'GHS', 'KES', 'MWK', 'NGN', 'TZS', 'USD', 'ZAR', 'ZMW'] as const),
  ...(['RWF', 'UGX', 'XAF', 'XOF'] as const),
]

/** A good response with exactly this amount text, not converted through a JavaScript number. */
function answerWith(amount: string, currency: string): string {
  const { data, ...envelope } = readFixture('verify-card')
  const text = JSON.stringify({ ...envelope, data: { ...Object(data), amount: 'HERE', currency } })
  return text.replace('"HERE"', amount)
}

describe('amounts at Flutterwave', () => {
  it('are tested for every currency that Flutterwave collects', () => {
    const collected = FLUTTERWAVE.rails.map(({ currency }) => currency)
    assert.deepEqual(CURRENCIES.toSorted(), collected.toSorted())
  })

  for (const currency of CURRENCIES)
    for (const [minor, text] of decimalsOf(currency) === 0 ? WHOLE : HUNDREDTHS)
      it(`write ${minor} of ${currency} as ${text} and read it back`, async (t) => {
        const amount = money(minor, currency)
        const { server, gateway } = await startFixedServer(t, ({ method, path }) =>
          method === 'GET' && path === '/v3/refunds'
            ? { http: 200, body: { status: 'success', message: 'Refunds', data: [] } }
            : { http: 500, body: '' },
        )
        await gateway.startCheckout(makeAttempt({ amount }), { channel: 'card' }, RETURN_URL)
        await gateway.chargeSaved(makeAttempt({ amount, operation: 'charge' }), CREDENTIAL)
        await gateway.refund({
          key: 'our-key',
          attemptKey: 'key',
          attemptReference: '7',
          amount,
          isFull: true,
        })
        const bodies = server.requests
          .filter(({ method }) => method === 'POST')
          .map((request) => request.text)
        assert.equal(bodies.length, 3)
        assert.ok(bodies[0]?.includes(`"amount":${text},"currency":"${currency}",`), bodies[0])
        assert.ok(bodies[1]?.includes(`"amount":${text},"tx_ref":`), bodies[1])
        assert.equal(bodies[2], `{"amount":${text},"comments":"our-key"}`)

        const outcome = await verifyAnswer(t, { http: 200, body: answerWith(text, currency) }, { amount })
        assert.ok(outcome.kind === 'succeeded')
        assert.deepEqual(outcome.paid, amount)
      })

  it('survive a round trip without loss', () => {
    const amounts = fc.record({
      currency: fc.constantFrom(...CURRENCIES),
      hundredths: fc.bigInt(1n, 99_999_999_999_999n),
    })
    fc.assert(
      fc.property(amounts, ({ currency, hundredths }) => {
        const minor = decimalsOf(currency) === 0 ? hundredths / 100n + 1n : hundredths
        const amount = money(minor, currency)
        const text = JSON.stringify(toMajor(amount))
        assert.deepEqual(fromMajor(text, currency, amount), amount)
      }),
      { numRuns: 2_000 },
    )
  })

  it('are parsed from their digits, in any notation', () => {
    const requested = money(1n, 'NGN')
    const ways: [string, bigint][] = [
      ['1250.5', 125_050n],
      ['1250.50', 125_050n],
      ['1250.500000', 125_050n],
      ['1.2505e3', 125_050n],
      ['125050E-2', 125_050n],
      ['0.3', 30n],
      ['90071992547409.93', 9_007_199_254_740_993n],
    ]
    for (const [text, minor] of ways) assert.deepEqual(fromMajor(text, 'NGN', requested), money(minor, 'NGN'))
  })

  it('amounts at Flutterwave with more decimals than the currency has never equal the requested amount', async (t) => {
    const cases = [
      { text: '100.5', requested: money(100n, 'UGX') },
      { text: '100.5', requested: money(101n, 'UGX') },
      { text: '12.505', requested: money(1_250n, 'NGN') },
      { text: '12.505', requested: money(1_251n, 'NGN') },
      { text: '12.4999999999999999', requested: money(1_250n, 'NGN') },
    ]
    for (const { text, requested } of cases) {
      const reply = { http: 200, body: answerWith(text, requested.currency) }
      const outcome = await verifyAnswer(t, reply, { amount: requested })
      assert.ok(outcome.kind === 'succeeded')
      assert.notEqual(outcome.paid.minor, requested.minor, text)
    }
  })

  it('are unreadable in an unknown currency or beyond the limit', async (t) => {
    for (const [amount, currency] of [
      ['100', 'SLL'],
      ['1e17', 'NGN'],
      ['-5', 'NGN'],
    ] as const) {
      const outcome = await verifyAnswer(t, { http: 200, body: answerWith(amount, currency) })
      assert.ok(outcome.kind === 'unknown')
      assert.equal(outcome.reason, 'unrecognized')
    }
  })

  it('are not sent if a JSON number cannot represent them', () => {
    assert.throws(() => toMajor(money(900_719_925_474_099_321n, 'NGN')), /cannot be written/)
  })
})
