import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { median, percentile, rounded, slopeOf, spread } from './statistics.ts'

describe('the statistics of measurements', () => {
  it('percentiles are values that were measured', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
    assert.equal(percentile(hundred, 0.5), 50)
    assert.equal(percentile(hundred, 0.99), 99)
    assert.equal(percentile([7], 0.99), 7)
    assert.ok(Number.isNaN(percentile([], 0.5)))
  })

  it('the median round is taken, with the spread of the rounds', () => {
    assert.equal(median([30, 10, 20]), 20)
    assert.equal(spread([18, 22, 20]), 0.2)
  })

  it('the slope of a line is fitted', () => {
    const points = [1, 2, 3, 4].map((x) => ({ x, y: 5 + 3 * x }))
    assert.equal(rounded(slopeOf(points)), 3)
  })

  it('insignificant digits are removed', () => {
    assert.equal(rounded(1234.5678), 1230)
    assert.equal(rounded(0.98765), 0.988)
  })
})
