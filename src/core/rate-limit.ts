/** A token bucket: it gains `perSecond` tokens a second and holds at most `burst`. A request takes one token. */
export interface RateLimit {
  perSecond: number
  burst: number
}

// Enough for a page that sends its calls at once, and for a short stall of the caller.
const DEFAULT_BURST_SECONDS = 5

/** Reads `N` or `N:BURST`, the form of rate limits in settings and on the command line. */
export function parseRateLimit(text: string): RateLimit | undefined {
  const [, rate, size] = /^(\d{1,6})(?::(\d{1,7}))?$/.exec(text) ?? []
  if (rate === undefined) return undefined
  const perSecond = Number(rate)
  return { perSecond, burst: size === undefined ? perSecond * DEFAULT_BURST_SECONDS : Number(size) }
}
