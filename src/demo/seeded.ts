// Seeded numbers: the same seed makes the same history. Identifiers and secrets never come from here.

export interface Seeded {
  /** In [0, 1). */
  fraction(): number
  /** An integer from the first to the last. */
  between(first: number, last: number): number
  isTrue(probability: number): boolean
  pick<Value>(values: readonly Value[]): Value
  /** One of the values; those with more weight more often. */
  choose<Value>(weights: readonly (readonly [Value, number])[]): Value
  /** Around 1, with the logarithm normally distributed: amounts of purchases look like this. */
  spread(sigma: number): number
}

/** Mulberry32: 32 bits of state are enough for a history. */
export function createSeeded(seed: number): Seeded {
  let state = seed >>> 0
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (first: number, last: number) => first + Math.floor(fraction() * (last - first + 1))
  return {
    fraction,
    between,
    isTrue: (probability) => fraction() < probability,
    pick(values) {
      const [found] = values.slice(between(0, values.length - 1))
      if (found === undefined) throw new Error('there is nothing to choose from')
      return found
    },
    choose(weights) {
      let left = fraction() * weights.reduce((sum, [, weight]) => sum + weight, 0)
      const found = weights.find(([, weight]) => {
        left -= weight
        return left < 0
      })
      const chosen = found ?? weights.at(-1)
      if (!chosen) throw new Error('there is nothing to choose from')
      return chosen[0]
    },
    spread(sigma) {
      // Box and Muller: two uniform numbers make a normally distributed one.
      const normal = Math.sqrt(-2 * Math.log(1 - fraction())) * Math.cos(2 * Math.PI * fraction())
      return Math.exp(sigma * normal)
    },
  }
}
