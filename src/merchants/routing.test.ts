import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { completeRules, readRules, routingIssues } from './routing.ts'

const NAMES = ['paystack', 'stripe', 'sandbox']
const fieldsOf = (...rules: Parameters<typeof routingIssues>[0]) =>
  routingIssues(rules, NAMES).map(({ field }) => field)

describe('routing rules', () => {
  it('may be one for all currencies and one for each currency', () => {
    const split = [
      { gateway: 'stripe', percent: 30 },
      { gateway: 'paystack', percent: 70 },
    ]
    assert.deepEqual(fieldsOf({ prefer: ['stripe'], exclude: ['sandbox'] }, { currency: 'KES', split }), [])
    assert.deepEqual(fieldsOf({}), [])
  })

  it('are rejected with an issue for each wrong field', () => {
    assert.deepEqual(fieldsOf({ currency: 'KES' }, { currency: 'KES' }, {}, { currency: null }), [
      'settings.routing.1.currency',
      'settings.routing.3.currency',
    ])
    const split = [
      { gateway: 'stripe', percent: 60 },
      { gateway: 'stripe', percent: 41 },
    ]
    assert.deepEqual(fieldsOf({ split }), ['settings.routing.0.split', 'settings.routing.0.split'])
    assert.deepEqual(fieldsOf({ prefer: ['stripe'], exclude: ['stripe'] }), ['settings.routing.0.exclude'])
    assert.deepEqual(fieldsOf({ prefer: ['paypol'] }), ['settings.routing.0.prefer'])
    assert.match(
      routingIssues([{ exclude: ['paypol'] }], NAMES)[0]?.message ?? '',
      /there are paystack, stripe, sandbox/,
    )
  })

  it('are stored complete, and a malformed document reads as no rules', () => {
    const whole = { currency: null, prefer: ['stripe'], exclude: [], split: [] }
    assert.deepEqual(completeRules([{ prefer: ['stripe', 'stripe'] }]), [whole])
    assert.deepEqual(readRules([whole]), [whole])
    for (const stored of [undefined, null, 'stripe', [{ prefer: 'stripe' }], [{ currency: 'XXX' }]])
      assert.deepEqual(readRules(stored), [])
  })
})
