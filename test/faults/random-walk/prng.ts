// A seeded random number generator, so that a walk can be repeated.

export interface Prng {
  /** An integer from 0 up to, but not including, the limit. */
  nextInt(limit: number): number
  nextBool(probability: number): boolean
  /** One of the items; undefined when there is none. */
  pick<Value>(values: readonly Value[]): Value | undefined
  /** One of the items, those with more weight more often. */
  pickWeighted<Value extends { weight: number }>(values: readonly Value[]): Value
  /** An independent generator, which later draws here do not change. */
  fork(): Prng
}

/** Mulberry32: 32 bits of state, which is enough to choose among a few dozen items. */
export function createPrng(seed: number): Prng {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const nextInt = (limit: number) => Math.floor(next() * limit)
  return {
    nextInt,
    nextBool: (probability) => next() < probability,
    pick: (values) => values[nextInt(values.length)],
    pickWeighted(values) {
      let left = next() * values.reduce((sum, { weight }) => sum + weight, 0)
      const found = values.find(({ weight }) => {
        left -= weight
        return left < 0
      })
      const chosen = found ?? values.at(-1)
      if (!chosen) throw new Error('there is nothing to choose from')
      return chosen
    },
    fork: () => createPrng(nextInt(2 ** 32)),
  }
}
