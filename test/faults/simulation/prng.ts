// All randomness of a schedule comes from its seed: the values that the service draws, and the faults.

import type { Clock } from '../../../src/kit/clock.ts'
import type { Random } from '../../../src/kit/random.ts'

export interface Prng {
  /** In [0, 1). */
  fraction(): number
  /** In [from, to). */
  between(from: number, to: number): number
  /** An integer below the limit. */
  nextInt(limit: number): number
  /** True with this probability. */
  nextBool(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
  bytes(count: number): Uint8Array
  /** A different text at every call, twelve hexadecimal digits without an order. */
  nextHexId(): string
}

const FOUR_DIGITS = Array.from({ length: 0x10000 }, (_, n) => n.toString(16).padStart(4, '0'))

/** The generator sfc32: small, fast, and without a pattern that affects a schedule. */
export function createPrng(seed: number): Prng {
  let a = seed | 0
  let b = (seed / 2 ** 32) | 0
  let c = 0x9e3779b9 | 0
  let counter = 1
  const next = (): number => {
    const drawn = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + drawn
    return drawn >>> 0
  }
  // Neighbouring seeds start alike, so the first numbers are discarded.
  for (let n = 0; n < 12; n += 1) next()
  const fraction = () => next() / 2 ** 32
  const prefix = (next() >>> 16).toString(16).padStart(4, '0')
  let marks = 0
  return {
    fraction,
    between: (from, to) => from + fraction() * (to - from),
    nextInt: (limit) => Math.floor(fraction() * limit),
    nextBool: (probability) => fraction() < probability,
    pick: (items) => {
      const item = items[Math.floor(fraction() * items.length)]
      if (item === undefined) throw new Error('there is nothing to pick from')
      return item
    },
    bytes: (count) => {
      const bytes = new Uint8Array(count)
      for (let n = 0; n < count; n += 1) bytes[n] = next() & 0xff
      return bytes
    },
    nextHexId: () => {
      marks += 1
      const spread = Math.imul(marks, 0x9e3779b1) >>> 0
      return `${FOUR_DIGITS[spread >>> 16]}${FOUR_DIGITS[spread & 0xffff]}${prefix}`
    },
  }
}

/** The same generator in the form of the service's random port. */
export function randomOf(prng: Prng, clock: Pick<Clock, 'now'>): Random {
  let latestMs = 0
  let time = ''
  return {
    bytes: (count) => prng.bytes(count),
    fraction: () => prng.fraction(),
    // A UUIDv7. The service draws hundreds at a time for settlements, so they do not use the generator.
    uuid: () => {
      const nowMs = clock.now().getTime()
      if (nowMs !== latestMs) time = timePart(nowMs)
      latestMs = nowMs
      return `${time}-7000-8000-${prng.nextHexId()}`
    },
  }
}

function timePart(ms: number): string {
  const text = ms.toString(16).padStart(12, '0')
  return `${text.slice(0, 8)}-${text.slice(8)}`
}
