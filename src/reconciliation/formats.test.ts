import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Format, readSettlementFile } from './formats.ts'

function rowsOf(format: Format, text: string) {
  const file = readSettlementFile(format, text)
  assert.ok('rows' in file, 'it is taken')
  return file
}

function issuesOf(format: Format, text: string) {
  const file = readSettlementFile(format, text)
  assert.ok('issues' in file, 'it is refused')
  return file.issues.map(({ line, message }) => `${line}: ${message}`)
}

describe('the neutral settlement format', () => {
  it('has payments and refunds, identified by key or reference, with exact amounts', () => {
    const { rows, ignored } = rowsOf(
      'neutral',
      'type,key,reference,amount,currency,fee,status\npayment,k1,,90071992547409.93,kes,1.50,settled\nrefund,,r1,-5000.00,XOF,,failed\npayout,p,,1,KES,,\n',
    )
    assert.equal(ignored, 1)
    assert.deepEqual(rows, [
      {
        line: 2,
        type: 'payment',
        key: 'k1',
        reference: null,
        amountText: '90071992547409.93',
        currency: 'KES',
        amount: { minor: 9_007_199_254_740_993n, currency: 'KES' },
        fee: { minor: 150n, currency: 'KES' },
        status: 'settled',
        isDone: true,
      },
      {
        line: 3,
        type: 'refund',
        key: null,
        reference: 'r1',
        amountText: '-5000.00',
        currency: 'XOF',
        amount: { minor: 5_000n, currency: 'XOF' },
        fee: null,
        status: 'failed',
        isDone: false,
      },
    ])
  })

  it('keeps the sign of a payment, and drops the sign of a refund and a fee', () => {
    const { rows } = rowsOf('neutral', 'type,key,amount,currency,fee\n,k1,-10,KES,-1\nrefund,k2,-10,KES,\n')
    assert.deepEqual(
      rows.map(({ amount, fee }) => [amount?.minor, fee?.minor]),
      [
        [-1_000n, 100n],
        [1_000n, undefined],
      ],
    )
  })

  it('requires only an identifier, an amount and a currency, in any order', () => {
    const { rows } = rowsOf('neutral', ' Currency ,AMOUNT,Key\nKES,10,k1\n')
    assert.deepEqual(
      rows.map(({ type, key, amount, isDone }) => [type, key, amount?.minor, isDone]),
      [['payment', 'k1', 1_000n, true]],
    )
  })

  it('keeps the amount text of an unsupported currency', () => {
    const { rows } = rowsOf('neutral', 'key,amount,currency\nk1,1200,JPY\n')
    assert.deepEqual([rows[0]?.amount, rows[0]?.amountText], [null, '1200'])
  })

  it('is rejected with an error for every line that cannot be read exactly', () => {
    const head = 'key,reference,amount,currency,fee'
    const lines = [
      'k1,,10.005,KES,',
      'k2,,5000.5,XOF,',
      ',,1,KES,',
      'k3,,"1,250.50",KES,',
      'k4,,1e3,KES,',
      'k5,,1,Kenya,',
      'k6,,1,KES,free',
      `${'x'.repeat(201)},,1,KES,`,
      '"a\u0000b",,1,KES,',
      'k7,,,KES,',
    ]
    assert.deepEqual(issuesOf('neutral', [head, ...lines].join('\n')), [
      '2: The amount "10.005" is not an exact amount.',
      '3: The amount "5000.5" is not an exact amount.',
      '4: The payment has neither a key nor a reference.',
      '5: The amount "1,250.50" is not an exact amount.',
      '6: The amount "1e3" is not an exact amount.',
      '7: The currency is not a three-letter code.',
      '8: The fee "free" is not an exact amount.',
      '9: The key, the reference or the status is not plain text of at most 200 characters.',
      '10: The key, the reference or the status is not plain text of at most 200 characters.',
      '11: The amount "" is not an exact amount.',
    ])
  })

  it('is rejected without its required columns, and with more than fifty thousand lines', () => {
    assert.deepEqual(issuesOf('neutral', 'a,b\n1,2\n'), [
      '1: The neutral format requires a column amount.',
      '1: The neutral format requires a column currency.',
      '1: No column names the payments.',
    ])
    const long = `key,amount,currency\n${'k,1,KES\n'.repeat(50_001)}`
    assert.deepEqual(issuesOf('neutral', long), [
      '50002: The file has more than 50000 lines; split it by time.',
    ])
  })
})

describe("Paystack's export", () => {
  it('is read by its column names, and other columns are ignored', () => {
    const { rows } = rowsOf(
      'paystack',
      'Transaction ID,Reference,Customer Email,Amount Paid,Paystack Fees,Currency,Status\n99,our-key,a@b.c,1000.00,15.00,NGN,success\n98,other,a@b.c,5,0,NGN,abandoned\n',
    )
    assert.deepEqual(
      rows.map(({ key, reference, amount, fee, isDone }) => [
        key,
        reference,
        amount?.minor,
        fee?.minor,
        isDone,
      ]),
      [
        ['our-key', '99', 100_000n, 1_500n, true],
        ['other', '98', 500n, 0n, false],
      ],
    )
  })
})

describe("Stripe's itemized report", () => {
  const HEAD =
    'reporting_category,payment_intent_id,source_id,payment_metadata[cowry_key],currency,gross,fee,customer_facing_amount,customer_facing_currency'

  it('has charges and refunds in the currency of the payer, and other lines are ignored', () => {
    const { rows, ignored } = rowsOf(
      'stripe',
      `${HEAD}\ncharge,pi_1,ch_1,key-1,usd,10.00,0.59,1300.00,kes\nrefund,pi_1,re_1,key-1,usd,-10.00,0.00,-1300.00,kes\npayout,,po_1,,usd,-9.41,0,,\ncharge,pi_2,ch_2,,usd,5.00,0.30,5.00,usd\n`,
    )
    assert.equal(ignored, 1)
    assert.deepEqual(
      rows.map(({ type, key, reference, amount, fee }) => [
        type,
        key,
        reference,
        `${amount?.minor} ${amount?.currency}`,
        fee?.minor ?? null,
      ]),
      [
        ['payment', 'key-1', 'pi_1', '130000 KES', null],
        ['refund', null, 're_1', '130000 KES', null],
        ['payment', null, 'pi_2', '500 USD', 30n],
      ],
    )
  })
})
