import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chargeIssues, toChargeInput } from '../charges/input.ts'
import { initiateIssues, toInitiateInput } from '../checkout/input.ts'
import { canonicalJson } from '../core/canonical.ts'
import { CURRENCIES, CURRENCY_CODES } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import { fingerprintOf } from './input.ts'

const customer = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }
const body = { amount: 1250.5, currency: 'KES' as const, reference: 'order-1', customer }
const charge = { ...body, metadata: {}, recurringToken: 'rtk_1', description: 'Again' }
const exact = { lossyNumbers: new Set<string>() }

const issuesOf = (changes: Record<string, unknown>, allowHttp = true) =>
  initiateIssues(allowHttp)({ ...body, ...changes }, exact).map(({ field, code }) => `${field}: ${code}`)

describe('a request to initiate', () => {
  it('normalises an initiate request: codes in upper case, defaults filled in, amounts in minor units', () => {
    const input = toInitiateInput({ ...body, country: 'ke', customer: { ...customer, country: 'ug' } })
    const expected = {
      reference: 'order-1',
      amount: { minor: 125_050n, currency: 'KES' },
      description: null,
      metadata: {},
      customer: { ...customer, country: 'UG' },
      country: 'KE',
      redirectUrl: null,
      isRecurring: false,
    }
    // As the fingerprint compares them: an absent field and an undefined one are the same.
    assert.equal(canonicalJson(input), canonicalJson(expected))
  })

  it('defaults the currency of an initiate request to USD', () => {
    const { currency: _, ...bare } = body
    const { amount, country } = toInitiateInput(bare)
    assert.deepEqual(amount, { minor: 125_050n, currency: 'USD' })
    assert.equal(country, 'US')
  })

  it('requires a country for exactly the currencies that several countries share', () => {
    for (const currency of CURRENCY_CODES) {
      const issues = issuesOf({ amount: 1000, currency })
      const wanted = CURRENCIES[currency].countryRequired ? ['country: country_required'] : []
      assert.deepEqual(issues, wanted, currency)
    }
  })

  it('accepts every country that uses the currency, in either case, and no other', () => {
    for (const currency of CURRENCY_CODES) {
      for (const country of CURRENCIES[currency].countries) {
        assert.deepEqual(issuesOf({ amount: 1000, currency, country: country.toLowerCase() }), [])
      }
      const otherCountry = currency === 'CAD' ? 'KE' : 'CA'
      assert.deepEqual(issuesOf({ amount: 1000, currency, country: otherCountry }), [
        'country: invalid_country',
      ])
    }
  })

  it('accepts an https redirectUrl, and http only in staging', () => {
    const wrong = ['redirectUrl: invalid_format']
    assert.deepEqual(issuesOf({ redirectUrl: 'https://shop.example/thanks?a=1#b' }, false), [])
    assert.deepEqual(issuesOf({ redirectUrl: 'http://127.0.0.1:3000/back' }, true), [])
    assert.deepEqual(issuesOf({ redirectUrl: 'http://shop.example/back' }, false), wrong)
  })

  it('ignores values of a wrong type, which the schema reports', () => {
    for (const value of [null, undefined, 7, 'text', [], {}, true]) {
      const odd = { amount: value, currency: value, country: value, customer: value, metadata: value }
      assert.ok(Array.isArray(initiateIssues(true)({ ...odd, redirectUrl: value }, exact)))
      assert.ok(Array.isArray(chargeIssues(odd, exact)))
    }
  })
})

describe('the fingerprint of a request (F-48)', () => {
  const initiate = (changes: object) => fingerprintOf('initiate', toInitiateInput({ ...body, ...changes }))
  const again = (changes: object) => fingerprintOf('charge', toChargeInput({ ...charge, ...changes }))

  it('gives one fingerprint for any order of keys, for explicit defaults and for codes in another case', () => {
    const reordered = Object.fromEntries(Object.entries(body).reverse())
    const same = [
      reordered,
      { customer: { lastname: 'Odhiambo', firstname: 'Amina', email: 'amina@example.com' } },
      { isRecurring: false },
      { metadata: {} },
    ]
    for (const changes of same) assert.equal(initiate(changes), initiate({}), JSON.stringify(changes))
    assert.equal(initiate({ country: 'ke' }), initiate({ country: 'KE' }))
    assert.equal(initiate({ country: 'KE' }), initiate({}), 'the only country of the currency')
    assert.notEqual(initiate({ currency: 'ZAR', country: 'LS' }), initiate({ currency: 'ZAR' }))
    assert.equal(initiate({ metadata: { a: 1, b: 2 } }), initiate({ metadata: { b: 2, a: 1 } }))
    assert.equal(initiate({ amount: 1250.5 }), initiate({ amount: 1250.5 }))
  })

  it('gives another fingerprint when any field of an initiate request differs', () => {
    const others: object[] = [
      { amount: 1250.51 },
      { currency: 'USD' },
      { reference: 'order-2' },
      { customer: { ...customer, email: 'other@example.com' } },
      { customer: { ...customer, firstname: 'Amani' } },
      { customer: { ...customer, lastname: 'Otieno' } },
      { customer: { ...customer, country: 'KE' } },
      { description: 'For shoes' },
      { metadata: { order: 1 } },
      { metadata: { order: '1' } },
      { metadata: { order: [1] } },
      { redirectUrl: 'https://shop.example/' },
      { isRecurring: true },
    ]
    const prints = [initiate({}), ...others.map(initiate)]
    assert.equal(new Set(prints).size, prints.length)
  })

  it('gives another fingerprint when any field of a charge or its operation differs', () => {
    const others: object[] = [
      { amount: 1 },
      { currency: 'USD' },
      { reference: 'order-2' },
      { customer: { ...customer, firstname: 'Amani' } },
      { description: 'For shoes' },
      { metadata: { order: 1 } },
      { recurringToken: 'rtk_2' },
    ]
    const prints = [again({}), fingerprintOf('other', toChargeInput(charge)), ...others.map(again)]
    assert.equal(new Set(prints).size, prints.length)
  })
})

describe('a card number', () => {
  const rejectedFields = (fields: string[]) => (error: unknown) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, 'card_data_not_allowed')
    assert.deepEqual(
      error.details.map(({ field }) => field),
      fields,
    )
    return true
  }

  it('rejects a card number in the description or a name, and names each field', () => {
    const card = '4242 4242 4242 4242'
    assert.throws(
      () => toInitiateInput({ ...body, description: `pay with ${card}` }),
      rejectedFields(['description']),
    )
    assert.throws(
      () => toChargeInput({ ...charge, customer: { ...customer, firstname: card, lastname: card } }),
      rejectedFields(['customer.firstname', 'customer.lastname']),
    )
  })

  it('does not repeat the card number in the error', () => {
    try {
      toInitiateInput({ ...body, description: '4242424242424242' })
      assert.fail('a card number passed')
    } catch (error) {
      assert.ok(error instanceof ApiError)
      assert.doesNotMatch(`${error.message} ${JSON.stringify(error.details)}`, /4242/)
    }
  })
})
