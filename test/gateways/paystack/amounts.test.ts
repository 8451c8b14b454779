import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Currency } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { fromSubunits, toSubunits } from '../../../src/gateways/paystack/wire.ts'
import type { FakeRequest } from '../fake-server.ts'
import {
  altered,
  CREDENTIAL,
  FIXTURE_KEY,
  makeAttempt,
  RETURN_URL,
  startFixedServer,
  verifyAnswer,
} from './rig.ts'

/** The smallest amount, 1, 1234 and the largest of the API: our minor units, and the digits on the wire. */
const AMOUNTS: Partial<Record<Currency, readonly (readonly [bigint, string])[]>> = {
  NGN: hundredths('5000'),
  GHS: hundredths('10'),
  KES: hundredths('300'),
  ZAR: hundredths('100'),
  USD: hundredths('200'),
  // No decimals in ISO 4217, but hundredths on the wire.
  XOF: [
    [1n, '100'],
    [1_234n, '123400'],
    [999_999_999_999n, '99999999999900'],
  ],
}

function hundredths(smallest: string): readonly (readonly [bigint, string])[] {
  return [smallest, '100', '123400', '99999999999999'].map((digits) => [BigInt(digits), digits])
}

/** A response with exactly these digits, not converted through a JavaScript number. */
function answerWithAmount(fixture: string, digits: string, currency: string): string {
  const text = JSON.stringify(altered(fixture, { amount: 'DIGITS', currency }))
  return text.replace('"DIGITS"', digits)
}

describe('amounts at Paystack', () => {
  it('are tested for every currency that Paystack collects', () => {
    const collected = PAYSTACK.rails.map(({ currency }) => currency)
    assert.deepEqual(Object.keys(AMOUNTS).toSorted(), collected.toSorted())
    for (const { currency, minimumMinor } of PAYSTACK.rails)
      assert.equal(AMOUNTS[currency]?.[0]?.[0], minimumMinor)
  })

  for (const [name, rows] of Object.entries(AMOUNTS)) {
    // The keys of the table are currencies; Object.entries only says string.
    const currency = name as Currency
    for (const [minor, digits] of rows ?? []) {
      it(`write ${minor} of ${currency} as ${digits} and read it back`, async (t) => {
        const { server, gateway } = await startFixedServer(t, { http: 500, body: '' })
        const amount = money(minor, currency)
        await gateway.startCheckout(makeAttempt({ amount }), { channel: 'card' }, RETURN_URL)
        await gateway.chargeSaved(makeAttempt({ amount }), CREDENTIAL)
        for (const { text } of server.requests)
          assert.ok(text.includes(`"amount":${digits},"currency":"${currency}",`), text)
        assert.equal(server.requests.length, 2)

        const paid = await verifyAnswer(t, answerWithAmount('verify-success', digits, currency))
        assert.ok(paid.kind === 'succeeded')
        assert.deepEqual(paid.paid, amount)
      })
    }
  }

  it('survive a round trip at Paystack without loss', () => {
    for (const { currency } of PAYSTACK.rails)
      for (let minor = 1n; minor < 10n ** 12n; minor = minor * 7n + 3n)
        assert.deepEqual(
          fromSubunits(String(toSubunits(money(minor, currency))), currency),
          money(minor, currency),
        )
  })

  it('include the fee of a payment, exactly, or leave it unknown', async (t) => {
    const cases = [
      ['NGN', 1_876, 1_876n],
      ['NGN', '1876', 1_876n],
      ['NGN', 0, 0n],
      ['XOF', 1_800, 18n],
      ['XOF', 1_876, undefined],
      ['NGN', null, undefined],
      ['NGN', 18.76, undefined],
      ['NGN', 125_051, undefined],
    ] as const
    for (const [currency, fees, minor] of cases) {
      const amount = currency === 'XOF' ? 125_000 : 125_050
      const answer = JSON.stringify(altered('verify-success', { amount, currency, fees }))
      const paid = await verifyAnswer(t, answer)
      assert.ok(paid.kind === 'succeeded')
      assert.equal(paid.fee?.minor, minor, `${fees} ${currency}`)
    }
  })

  it('are sent in a refund as in a charge', async (t) => {
    const sent: FakeRequest[] = []
    const { gateway } = await startFixedServer(t, (request) => {
      sent.push(request)
      return request.method === 'GET'
        ? { http: 200, body: { status: true, data: [] } }
        : { http: 500, body: '' }
    })
    const key = 'b0f9a7de-30c3-4ad3-8a53-5d3f8c5d7b11'
    const amount = money(1_234n, 'XOF')
    await gateway.refund({ key, attemptKey: FIXTURE_KEY, attemptReference: '1', amount, isFull: true })
    assert.equal(
      sent.at(-1)?.text,
      `{"transaction":"${FIXTURE_KEY}","amount":123400,"merchant_note":"Refund ${key}"}`,
    )
  })

  it('are parsed from their digits, even beyond the safe integers', async (t) => {
    const paid = await verifyAnswer(t, answerWithAmount('verify-success', '9007199254740993', 'NGN'))
    assert.ok(paid.kind === 'succeeded')
    assert.equal(paid.paid.minor, 9_007_199_254_740_993n)
  })

  it('may be text', async (t) => {
    const paid = await verifyAnswer(t, answerWithAmount('verify-success', '"125050"', 'NGN'))
    assert.ok(paid.kind === 'succeeded')
    assert.equal(paid.paid.minor, 125_050n)
  })

  it('are never rounded: a fraction of a hundredth or of a franc is a mismatch', async (t) => {
    const odd = [
      ['125050.5', 'NGN'],
      ['125050.0000000000000001', 'NGN'],
      ['1.2505e5', 'NGN'],
      ['-125050', 'NGN'],
      ['123450', 'XOF'],
    ] as const
    for (const [digits, currency] of odd) {
      const outcome = await verifyAnswer(t, answerWithAmount('verify-success', digits, currency))
      assert.ok(outcome.kind === 'unknown', digits)
      assert.equal(outcome.reason, 'unrecognized')
    }
  })

  it('are the collected ones, not the requested ones', async (t) => {
    const outcome = await verifyAnswer(
      t,
      altered('verify-success', { amount: 100_000, requested_amount: 125_050 }),
    )
    assert.ok(outcome.kind === 'succeeded')
    assert.equal(outcome.paid.minor, 100_000n)
  })
})
