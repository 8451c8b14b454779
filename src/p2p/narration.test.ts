import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../kit/clock.ts'
import { systemRandom } from '../kit/random.ts'
import { newNarration, readNarration } from './narration.ts'

const random = systemRandom(systemClock)

describe('a narration', () => {
  it('has eight unambiguous characters, all equally likely', () => {
    const counts = new Map<string, number>()
    for (let n = 0; n < 3_000; n += 1) {
      const narration = newNarration(random)
      assert.match(narration, /^[CDFGHJKMNPQRTVWX34679]{8}$/)
      for (const letter of narration) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    }
    assert.equal(counts.size, 21)
    const wanted = (3_000 * 8) / 21
    for (const [letter, count] of counts) assert.ok(Math.abs(count - wanted) < wanted / 4, letter)
  })

  it('is recognised in the form that a bank prints', () => {
    assert.equal(readNarration(' k7f3-cqx4\n'), 'K7F3CQX4')
  })

  it('draws more random bytes when too many were rejected', () => {
    const drawn = [new Uint8Array(16).fill(255), new Uint8Array(16).fill(0)]
    assert.equal(newNarration({ ...random, bytes: () => drawn.shift() ?? new Uint8Array() }), 'CCCCCCCC')
  })
})
