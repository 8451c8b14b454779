// The rate limit: token buckets in memory, one per key or address. Each process counts alone; shared-rate-limit.ts
// synchronizes the buckets of keys. A full bucket is evicted, because a new one equals it, so memory follows recent
// traffic.

import type { RateLimit } from '../../core/rate-limit.ts'
import type { Clock } from '../../kit/clock.ts'

export interface RateLimitResult {
  allowed: boolean
  /** Whole requests left. */
  remaining: number
  /** Seconds until the bucket is full again. */
  resetSeconds: number
  /** Seconds until the next request is allowed; 0 if one is allowed now. */
  retryAfterSeconds: number
}

export interface RateLimiter {
  /** Takes the tokens of a request. A request that costs more than is left is allowed, and the debt delays the next. */
  take(owner: string, limit: RateLimit, cost?: number): RateLimitResult
  /** Sets the tokens of an owner with a bucket in this process; they may be negative. */
  correct(owner: string, tokens: number, atMs: number): void
  /** The number of buckets. */
  size(): number
}

interface Bucket {
  tokens: number
  updatedAtMs: number
  limit: RateLimit
}

const SWEEP_EVERY_MS = 10_000

/** About 10 MB. Above it the oldest bucket is evicted, so that many addresses cannot exhaust the memory. */
const MAX_BUCKETS = 100_000

export function createRateLimiter(clock: Clock): RateLimiter {
  const buckets = new Map<string, Bucket>()
  let sweptAtMs = clock.now().getTime()

  const bucketOf = (owner: string, limit: RateLimit, nowMs: number): Bucket => {
    const existing = buckets.get(owner)
    if (existing) {
      refill(existing, limit, nowMs)
      return existing
    }
    const created: Bucket = { tokens: limit.burst, updatedAtMs: nowMs, limit }
    buckets.set(owner, created)
    return created
  }

  const evict = (nowMs: number): void => {
    if (nowMs - sweptAtMs >= SWEEP_EVERY_MS) {
      sweptAtMs = nowMs
      for (const [owner, bucket] of buckets) if (isFull(bucket, nowMs)) buckets.delete(owner)
    }
    const [oldest] = buckets.size > MAX_BUCKETS ? buckets.keys() : []
    if (oldest !== undefined) buckets.delete(oldest)
  }

  return {
    take(owner, limit, cost = 1) {
      const nowMs = clock.now().getTime()
      const bucket = bucketOf(owner, limit, nowMs)
      const allowed = bucket.tokens >= 1
      if (allowed) bucket.tokens -= cost
      evict(nowMs)
      return resultOf(bucket, allowed)
    },
    correct(owner, tokens, atMs) {
      const bucket = buckets.get(owner)
      if (bucket) Object.assign(bucket, { tokens, updatedAtMs: atMs })
    },
    size: () => buckets.size,
  }
}

function refill(bucket: Bucket, limit: RateLimit, nowMs: number): void {
  bucket.limit = limit
  bucket.tokens = tokensAt(bucket, nowMs)
  bucket.updatedAtMs = nowMs
}

/** A clock that is set back adds and removes no tokens. */
function tokensAt(bucket: Bucket, nowMs: number): number {
  const elapsedMs = Math.max(0, nowMs - bucket.updatedAtMs)
  return Math.min(bucket.limit.burst, bucket.tokens + (elapsedMs / 1000) * bucket.limit.perSecond)
}

const isFull = (bucket: Bucket, nowMs: number) => tokensAt(bucket, nowMs) >= bucket.limit.burst

function resultOf({ tokens, limit }: Bucket, allowed: boolean): RateLimitResult {
  return {
    allowed,
    remaining: Math.max(0, Math.floor(tokens)),
    resetSeconds: Math.ceil((limit.burst - tokens) / limit.perSecond),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / limit.perSecond)),
  }
}

/** The RateLimit-Policy header: the burst, and the seconds in which an empty bucket fills. */
export function rateLimitPolicyHeader(limit: RateLimit): string {
  return `"default";q=${limit.burst};w=${Math.max(1, Math.ceil(limit.burst / limit.perSecond))}`
}

export function rateLimitHeader(result: RateLimitResult): string {
  return `"default";r=${result.remaining};t=${result.resetSeconds}`
}

/** One owner per address; in IPv6 per /64, because one machine usually has a whole /64. */
export function addressOwner(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped) return mapped
  if (!ip.includes(':')) return ip
  const [head = '', tail] = (ip.split('%')[0] ?? '').split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after]
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
