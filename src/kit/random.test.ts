import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from './clock.ts'
import { systemRandom } from './random.ts'

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

describe('random bytes', () => {
  it('have the length that was asked for, also a longer one than the pool', () => {
    const random = systemRandom(systemClock)
    for (const count of [0, 1, 10, 32, 4_000, 4_096, 4_097, 10_000])
      assert.equal(random.bytes(count).length, count)
  })

  it('are never the same, whatever was drawn before', () => {
    const random = systemRandom(systemClock)
    const drawn = Array.from({ length: 3_000 }, (_, n) => hexOf(random.bytes(16 + (n % 5)).subarray(0, 16)))
    assert.equal(new Set(drawn).size, drawn.length)
  })

  it('keep their values when others are drawn or changed', () => {
    const random = systemRandom(systemClock)
    const first = random.bytes(16)
    const before = hexOf(first)
    random.bytes(16).fill(0)
    for (let drawn = 0; drawn < 1_000; drawn += 1) random.bytes(16)
    assert.equal(hexOf(first), before)
    assert.notEqual(before, hexOf(new Uint8Array(16)))
  })
})
