import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { containsCardNumber } from './card-number.ts'

// The test numbers that the card schemes publish.
const CARDS = {
  visa: '4242424242424242',
  'visa of 13 digits': '4222222222222',
  'visa of 19 digits': '4000000000000000006',
  mastercard: '5555555555554444',
  'mastercard of the 2-series': '2223003122003222',
  'american express': '378282246310005',
  diners: '30569309025904',
  discover: '6011111111111117',
  jcb: '3530111333300000',
  unionpay: '6200000000000005',
  maestro: '6759649826438453',
  verve: '5060990580000217499',
}

describe('the search for card numbers in a text', () => {
  it('finds a card number of any scheme, alone or in a sentence', () => {
    for (const [scheme, number] of Object.entries(CARDS)) {
      assert.ok(containsCardNumber(number), scheme)
      assert.ok(containsCardNumber(`my card is ${number}, thanks`), scheme)
    }
  })

  it('finds a card number whose digits are in groups or full-width', () => {
    const fullWidth = '４２４２４２４２４２４２４２４２'
    for (const text of ['4242 4242 4242 4242', '4242-4242-4242-4242', '3782 822463 10005', fullWidth]) {
      assert.ok(containsCardNumber(text), text)
    }
  })

  it('finds a card number in other digits, over several lines, or with other or hidden separators', () => {
    for (const text of [
      '4242.4242.4242.4242',
      '4242\n4242\n4242\n4242',
      '4242 – 4242 – 4242 – 4242',
      '4242\u00a04242\u00a04242\u00a04242',
      '42\u200b424242\u200d424242\ufeff42',
      '٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢',
      '४२४२ ४२४२ ४२४२ ४२४२',
      '৪২৪২৪২৪২৪২৪২৪২৪২',
      '4242424242424242@example.com',
    ]) {
      assert.ok(containsCardNumber(text), text)
    }
  })

  it('finds no card number in dates, times, addresses and phone numbers', () => {
    for (const text of [
      '2026.11.16 12.30.45 2026.11.17',
      '10.0.0.1 192.168.100.200',
      '2348031234567@example.com',
      '2348031234560, 2348031234561, 2348031234562, 2348031234563, 2348031234564',
      '2348031234565, 2348031234566, 2348031234567, 2348031234568, 2348031234569',
    ]) {
      assert.equal(containsCardNumber(text), false, text)
    }
  })

  it('finds a card number next to another number', () => {
    for (const text of [
      'Invoice 12 4242 4242 4242 4242',
      'order 2026 4242424242424242',
      '4242 4242 4242 4242 12/29 123',
      '5000 4242 4242 4242 4242 0000',
    ]) {
      assert.ok(containsCardNumber(text), text)
    }
  })

  it('finds no card number when the digits are too few, too many, of no scheme or fail the check digit', () => {
    for (const text of [
      '',
      'no digits at all',
      '424242424242',
      '4242424242424241',
      '9999999999999995',
      '1234567890123456',
      '42424242424242424242',
      '0712 345 678',
      '4242424242424242424242424242',
    ]) {
      assert.equal(containsCardNumber(text), false, text)
    }
  })

  it('finds no card number in the digits of a UUID, but finds one beside it', () => {
    const ids = ['6224739d-c504-4836-9830-42fc4b789e0e', 'd0f64f59-b225-4275-9072-72581cbed829']
    for (const id of ids) {
      for (const text of [id, `${id}@example.com`, `Order ${id.toUpperCase()}.`]) {
        assert.equal(containsCardNumber(text), false, text)
      }
      assert.ok(containsCardNumber(`${id} 4242 4242 4242 4242`), id)
      assert.ok(containsCardNumber(`4242424242424242-${id}`), id)
    }
    assert.ok(containsCardNumber('42424242-4242-4242-0000-000000000000'), 'digits alone are no UUID')
    fc.assert(fc.property(fc.uuid(), (id) => !/[a-f]/.test(id) || !containsCardNumber(`${id}@example.com`)))
  })

  it('is fast for any arrangement of digits and separators', () => {
    const digitsAndGaps = fc.string({ unit: fc.constantFrom(...'0123456789 -.\n'), maxLength: 255 })
    fc.assert(fc.property(digitsAndGaps, (text) => typeof containsCardNumber(text) === 'boolean'))
  })

  it('finds no card number when one digit is wrong, because the check digit differs', () => {
    const spoilt = fc.tuple(
      fc.constantFrom(...Object.values(CARDS)),
      fc.nat({ max: 11 }),
      fc.integer({ min: 1, max: 9 }),
    )
    fc.assert(
      fc.property(spoilt, ([number, fromEnd, by]) => {
        const at = number.length - 1 - fromEnd
        const digit = (Number(number[at]) + by) % 10
        assert.equal(containsCardNumber(`${number.slice(0, at)}${digit}${number.slice(at + 1)}`), false)
      }),
    )
  })
})
