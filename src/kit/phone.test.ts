import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CURRENCIES } from '../core/currency.ts'
import { examplePhone, maskPhone, phoneProblem, readPhone } from './phone.ts'

const COUNTRIES = [...new Set(Object.values(CURRENCIES).flatMap(({ countries }) => [...countries]))]

// Uninhabited: it has no telephones.
const WITHOUT_PHONES = ['UM']

describe('reading a phone number', () => {
  it('takes a number as people of the country write it', () => {
    const written = [
      '0712345678',
      '0712 345 678',
      '712-345-678',
      '(0712) 345.678',
      '07 12 34 56 78',
      '254712345678',
    ]
    for (const text of written) assert.equal(readPhone(text, 'KE')?.e164, '+254712345678', text)
  })

  it('takes a number with its country in front, however that is written', () => {
    const written = [
      '+254712345678',
      '+254 (0)712 345678',
      '(+254) 712 345 678',
      '00254712345678',
      '000254 712345678',
    ]
    for (const text of written) assert.equal(readPhone(text, 'KE')?.e164, '+254712345678', text)
  })

  it('takes the digits that a payer has on the keyboard', () => {
    assert.equal(readPhone('٠١٠ ٠١٢٣ ٤٥٦٧', 'EG')?.e164, '+201001234567')
    assert.equal(readPhone('۰۱۰۰۱۲۳۴۵۶۷', 'EG')?.e164, '+201001234567')
    assert.equal(readPhone('০১৮১২-৩৪৫৬৭৮', 'BD')?.e164, '+8801812345678')
    assert.equal(readPhone('＋２５４７１２３４５６７８', 'KE')?.e164, '+254712345678')
  })

  it('takes a number out of a contact list, with the marks that such lists add', () => {
    assert.equal(readPhone('\u202a+254\u00a0712\u2011345\u2009678\u202c', 'UG')?.e164, '+254712345678')
  })

  it('takes a number from abroad only with its country in front, and shows it so', () => {
    assert.deepEqual(readPhone('+256 782 345678', 'KE'), {
      e164: '+256782345678',
      national: '+256 782 345 678',
      country: 'UG',
    })
    assert.equal(readPhone('06 12 34 56 78', 'KE'), undefined)
  })

  it('takes only a number with its country in front where no country is known', () => {
    assert.equal(readPhone('0712345678', null), undefined)
    assert.equal(readPhone('0712345678', 'UM'), undefined)
    assert.deepEqual(readPhone('+254712345678', null), {
      e164: '+254712345678',
      national: '+254 712 345 678',
      country: 'KE',
    })
  })

  it('takes no fixed line, which cannot approve a payment', () => {
    assert.equal(readPhone('020 2012345', 'KE'), undefined)
    assert.equal(readPhone('+254 20 2012345', 'KE'), undefined)
    assert.equal(readPhone('030 2123456', 'GH'), undefined)
  })

  it('takes a number that could be mobile or fixed', () => {
    assert.equal(readPhone('(506) 234-5678', 'CA')?.e164, '+15062345678')
  })

  it('takes nothing that is too short, too long, or not a number', () => {
    const written = [
      '',
      '+',
      '0712',
      '0712 345 67',
      '0712 345 6789',
      '0712345678 ext 9',
      'abc',
      '0712+345678',
    ]
    for (const text of [...written, '071234567 8'.padEnd(1_000_000, ' '), '፩፪፫', '0712345678;0712345679'])
      assert.equal(readPhone(text, 'KE'), undefined, text.slice(0, 40))
  })

  it('knows the mobile numbers of every country served', () => {
    for (const country of COUNTRIES.filter((code) => !WITHOUT_PHONES.includes(code))) {
      const example = examplePhone(country)
      assert.ok(example, country)
      const phone = readPhone(example, country)
      assert.equal(phone?.national, example, country)
      assert.equal(readPhone(phone?.e164 ?? '', null)?.e164, phone?.e164, country)
    }
  })
})

describe('showing a phone number', () => {
  it('groups it as people write it', () => {
    assert.equal(readPhone('+254712345678', 'KE')?.national, '0712 345 678')
    assert.equal(readPhone('+2250701234567', 'CI')?.national, '07 01 23 4567')
    assert.equal(readPhone('01001234567', 'EG')?.national, '010 0123 4567')
  })

  it('masks all but its start and its last three digits', () => {
    assert.equal(maskPhone('+254712345678'), '0712 ••• 678')
    assert.equal(maskPhone('+25779561234'), '79 •• •2 34')
    assert.equal(maskPhone('+2348021234567'), '0802 ••• •567')
  })

  it('hides at least three digits, however short the number is', () => {
    for (const country of COUNTRIES.filter((code) => !WITHOUT_PHONES.includes(code))) {
      const phone = readPhone(examplePhone(country) ?? '', country)
      const masked = maskPhone(phone?.e164 ?? '')
      assert.ok(masked.split('•').length - 1 >= 3, `${country}: ${masked}`)
      assert.equal(masked.replace(/\D/g, '').slice(-3), phone?.e164.slice(-3), country)
    }
    assert.equal(maskPhone('+376312345'), '••• 345')
    assert.equal(maskPhone('+999000123'), '999•••123')
  })

  it('has no example where there are no telephones', () => {
    assert.equal(examplePhone('UM'), null)
    assert.equal(examplePhone(null), null)
  })
})

describe('the problem of a phone number', () => {
  it('is named, so that the payer knows what to correct', () => {
    const problems = (country: string | null, texts: readonly string[]) =>
      texts.map((text) => phoneProblem(text, country))
    assert.deepEqual(problems('KE', ['', ' ', 'call me', '0712', '0712 345 678 99']), [
      'missing',
      'missing',
      'not_a_number',
      'too_short',
      'too_long',
    ])
    assert.deepEqual(problems('KE', ['020 2345678', '+254202345678', '+256772345678', '+2547']), [
      'not_mobile',
      'not_mobile',
      'foreign',
      'too_short',
    ])
    assert.deepEqual(problems(null, ['0712345678', '+254712345678']), ['without_code', undefined])
  })

  it('is none for the example of any country', () => {
    // The mobile numbers of these are in the ranges of Italy and of Great Britain.
    const without = [...WITHOUT_PHONES, 'VA', 'IM']
    for (const country of COUNTRIES.filter((code) => !without.includes(code)))
      assert.equal(phoneProblem(examplePhone(country) ?? '', country), undefined, country)
  })
})
