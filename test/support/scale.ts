// Proofs by number come in two forms: a short one that runs with every test, and the long one of `npm run test:long`.

export const isLong = process.env.COWRY_TEST_LONG === '1'

/** A count of the long form, or its part in the short one. */
export function scaled(count: number, shortPart: number): number {
  return isLong ? count : Math.round(count * shortPart)
}
