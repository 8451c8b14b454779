import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { API_ERRORS, type ApiErrorCode } from '../../src/core/errors.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const token = await saveMethod(api, 'card_success', { currency: 'USD' })

const XOF = { currency: 'XOF', country: 'SN' }
const OPERATIONS = {
  initiate: ['/api/v1/checkout/initiate-payment', (changes: object) => initiateBody({ ...changes })],
  // A charge takes no country.
  charge: [
    '/api/v1/charges/recurring',
    (changes: object) => chargeBody(token, { ...changes, country: undefined }),
  ],
} as const

/** Posts the amount literally, as a JSON text, to each operation that takes one. */
async function postAmount(literal: string, changes: object = { currency: 'USD' }) {
  const answers = []
  for (const [path, body] of Object.values(OPERATIONS)) {
    const text = JSON.stringify(body({ ...changes, amount: '@' })).replace('"@"', literal)
    answers.push(await api.postText(path, text))
  }
  return answers
}

/** The validation issue for the literal. Both operations must report the same one and store nothing. */
async function refused(literal: string, code: ApiErrorCode, detail: string = code, changes?: object) {
  await assertNothingStored(service.db, service.demoKey, async () => {
    for (const answer of await postAmount(literal, changes)) {
      assert.deepEqual(assertApiError(answer, code), [`amount: ${detail}`], literal)
      assert.equal(API_ERRORS[code].http, 400)
    }
  })
}

describe('an amount (F-65)', () => {
  it('rejects an amount with more decimals than its currency as amount_precision, and never rounds', async () => {
    for (const literal of ['10.005', '1.005', '0.001', '1e-7', '10.0050', '819.9999999999999']) {
      await refused(literal, 'amount_precision')
    }
    for (const currency of ['BIF', 'RWF', 'UGX']) {
      for (const literal of ['0.5', '10.01', '1000.1'])
        await refused(literal, 'amount_precision', 'amount_precision', { currency })
    }
    for (const literal of ['0.5', '99.99']) {
      await refused(literal, 'amount_precision', 'amount_precision', XOF)
      await refused(literal, 'amount_precision', 'amount_precision', { currency: 'XAF', country: 'CM' })
    }
  })

  it('rejects an amount whose digits a JSON number cannot represent', async () => {
    await refused('10.0000000000000001', 'amount_precision')
    await refused('999999999999.990000000001', 'amount_precision')
    await refused('5000.0000000000000001', 'amount_precision', 'amount_precision', XOF)
    await refused('90071992547409931.23', 'amount_out_of_range')
  })

  it('rejects an amount of 0, below 0 or above 999,999,999,999.99 as amount_out_of_range', async () => {
    for (const literal of ['0', '-0', '0.0', '-0.0', '0e5', '-1', '-0.01']) {
      await refused(literal, 'amount_out_of_range')
    }
    for (const literal of ['1000000000000', '999999999999.995', '1e12', '1e21', '1e308', '1e400', '-1e400']) {
      await refused(literal, 'amount_out_of_range')
    }
    await refused('1000000000000', 'amount_out_of_range', 'amount_out_of_range', XOF)
  })

  it('rejects an amount that is not a number, with its own code', async () => {
    for (const literal of ['"10"', '"10.00"', 'null', 'true', '[10]', '{"value":10}', '""']) {
      await refused(literal, 'validation_failed', 'invalid_type')
    }
  })

  it('rejects a body whose amount is not JSON as malformed', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const literal of [
        'NaN',
        'Infinity',
        '-Infinity',
        '.5',
        '5.',
        '+5',
        '05',
        '0x10',
        '1_000',
        '1,5',
        '',
      ]) {
        for (const answer of await postAmount(literal)) {
          assert.equal(assertApiError(answer, 'malformed_json').length, 1, literal)
        }
      }
    })
  })

  it('rejects an amount that occurs twice in one body, because parsers could read different amounts (F-62)', async () => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const [path, body] of Object.values(OPERATIONS)) {
        const text = JSON.stringify(body({ amount: 10 })).replace('"amount":10', '"amount":10,"amount":99')
        const details = assertApiError(await api.postText(path, text), 'validation_failed')
        assert.deepEqual(details, ['amount: duplicate_key'])
      }
    })
  })

  it('rejects an amount with an exponent (F-65)', async () => {
    for (const literal of ['1e3', '1.25E+2', '10e0']) {
      for (const answer of await postAmount(literal)) {
        assert.deepEqual(assertApiError(answer, 'validation_failed'), ['amount: invalid_format'])
        assert.equal(answer.body.message, 'amount must be written in plain digits, without an exponent.')
      }
    }
  })

  it('returns an amount exactly to the minor unit, with any number of decimals', async () => {
    for (const [literal, wanted] of [
      ['10', '10.00'],
      ['10.0', '10.00'],
      ['10.50', '10.50'],
      ['0.01', '0.01'],
      ['0.1', '0.10'],
      ['8.2', '8.20'],
      ['1.10', '1.10'],
      ['4.35', '4.35'],
      ['1000000.07', '1000000.07'],
      ['999999999999.99', '999999999999.99'],
    ] as const) {
      for (const answer of await postAmount(literal)) {
        assert.equal(answer.http, 201, answer.text)
        assert.equal(answer.body.data.sourceAmount, wanted)
      }
    }
    for (const answer of await postAmount('999999999999', XOF)) {
      assert.equal(answer.body.data.sourceAmount, '999999999999.00')
    }
  })

  it('collects, credits and shows an amount in the wallet exactly to the minor unit', async () => {
    const { api: shop } = await service.newMerchant()
    const body = initiateBody({ amount: 999_999_999_999.99, currency: 'USD' })
    await shop.post('/api/v1/checkout/initiate-payment', body)
    const paid = await shop.post(`/api/v1/sandbox/payments/${body.reference}/complete`, {
      instrument: 'card_success',
    })
    assert.equal(paid.body.data.amountPaid, '999999999999.99')
    const executions = await shop.get(`/api/v1/sandbox/executions?reference=${body.reference}`)
    assert.equal(executions.body.data[0].amount, '999999999999.99')
    const wallet = await shop.get('/api/v1/wallet/balance')
    assert.equal(wallet.body.data.pendingBalance, '999999999999.99')
  })
})
