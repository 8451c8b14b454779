// The statistics of measurements.

export function percentile(numbers: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(numbers).sort()
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

export function median(numbers: ArrayLike<number>): number {
  return percentile(numbers, 0.5)
}

/** The spread of the rounds, as a share of their median. */
export function spread(numbers: readonly number[]): number {
  return (Math.max(...numbers) - Math.min(...numbers)) / median(numbers)
}

/** The slope of the least-squares line. */
export function slopeOf(points: readonly { x: number; y: number }[]): number {
  const mean = (field: 'x' | 'y') => points.reduce((sum, point) => sum + point[field], 0) / points.length
  const [meanX, meanY] = [mean('x'), mean('y')]
  const upper = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0)
  const lower = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
  return upper / lower
}

/** Rounds to the digits that are significant on a shared machine. */
export function rounded(value: number, digits = 3): number {
  return Number(value.toPrecision(digits))
}
