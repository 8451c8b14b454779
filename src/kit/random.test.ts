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

  it('are never used twice, also not in part', () => {
    const random = systemRandom(systemClock)
    const drawn = Array.from({ length: 2_000 }, (_, n) => hexOf(random.bytes(8 + (n % 20))))
    const text = drawn.join('')
    const windows = Array.from({ length: text.length / 2 - 7 }, (_, at) => text.slice(2 * at, 2 * at + 16))
    assert.equal(new Set(windows).size, windows.length)
    // Chance makes the last byte of one in 256 the first of the next.
    const overlapping = drawn.filter((one, n) => one.endsWith(drawn[n + 1]?.slice(0, 2) ?? 'none'))
    assert.ok(overlapping.length < 100, `${overlapping.length} of ${drawn.length} overlap`)
  })

  it('are not given for what is no count', () => {
    const random = systemRandom(systemClock)
    for (const count of [-1, Number.NaN]) assert.throws(() => random.bytes(count), RangeError, String(count))
    assert.notEqual(hexOf(random.bytes(16)), hexOf(new Uint8Array(16)))
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
