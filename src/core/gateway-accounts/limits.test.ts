import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LIMIT_FIELDS, readLimits, withoutLimits } from './limits.ts'

const issueOf = (name: string, text: string) =>
  LIMIT_FIELDS.find((field) => field.name === name)?.validate(text)

describe('the limits of a gateway account', () => {
  it('are lists, with amounts in major units', () => {
    const limits = readLimits({
      countries: 'ke, UG',
      currencies: 'KES UGX',
      channels: 'card,mobile_money',
      amounts: 'KES:10-250000.50, UGX:-5000000, USD:2-',
    })
    assert.deepEqual(limits, {
      countries: ['KE', 'UG'],
      currencies: ['KES', 'UGX'],
      channels: ['card', 'mobile_money'],
      amounts: [
        { currency: 'KES', minimumMinor: 1_000n, maximumMinor: 25_000_050n },
        { currency: 'UGX', minimumMinor: null, maximumMinor: 5_000_000n },
        { currency: 'USD', minimumMinor: 200n, maximumMinor: null },
      ],
    })
    assert.deepEqual(readLimits({}), { countries: [], currencies: [], channels: [], amounts: [] })
  })

  it('are rejected if a value is not one of the service', () => {
    const wrong: [string, string][] = [
      ['countries', 'KE,Kenya'],
      ['currencies', 'KES,JPY'],
      ['channels', 'cash'],
      ['amounts', 'KES'],
      ['amounts', 'KES:-'],
      ['amounts', 'JPY:1-2'],
      ['amounts', 'UGX:1.5-'],
      ['amounts', 'KES:500-10'],
      ['amounts', 'KES:1.2.3-'],
    ]
    for (const [name, text] of wrong) assert.match(issueOf(name, text) ?? '', /^must be /, `${name} ${text}`)
    assert.equal(issueOf('amounts', 'KES:10-10'), undefined)
    assert.equal(issueOf('countries', 'ke'), undefined)
  })

  it('are no credentials', () => {
    assert.deepEqual(withoutLimits({ secretKey: 'k', countries: 'KE', amounts: '' }), { secretKey: 'k' })
  })
})
