import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { median, percentile, rounded, slopeOf, spread } from './statistics.ts'

describe('the arithmetic of measurements', () => {
  it('takes percentiles that were really measured', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
    assert.equal(percentile(hundred, 0.5), 50)
    assert.equal(percentile(hundred, 0.99), 99)
    assert.equal(percentile([7], 0.99), 7)
    assert.ok(Number.isNaN(percentile([], 0.5)))
  })

  it('takes the median round and says how far the rounds lie apart', () => {
    assert.equal(median([30, 10, 20]), 20)
    assert.equal(spread([18, 22, 20]), 0.2)
  })

  it('fits a line', () => {
    const points = [1, 2, 3, 4].map((x) => ({ x, y: 5 + 3 * x }))
    assert.equal(rounded(slopeOf(points)), 3)
  })

  it('leaves out digits that mean nothing', () => {
    assert.equal(rounded(1234.5678), 1230)
    assert.equal(rounded(0.98765), 0.988)
  })
})
