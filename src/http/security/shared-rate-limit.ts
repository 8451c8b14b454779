// Shares the rate limits of keys between all processes of an instance. Each process decides from local copies of the
// token buckets, so that no request waits, and synchronizes them with the database every 100 ms. Requests that
// several processes allow beyond the limit in between become debt, so the limit holds over a few seconds.

import type { RateLimit } from '../../core/rate-limit.ts'
import type { Clock } from '../../kit/clock.ts'
import { errorFields, type Log } from '../../kit/observability/log.ts'
import { createRateLimiter, type RateLimiter } from './rate-limit.ts'

/** The tokens that this process has spent since its last synchronization. */
export interface TokenUsage extends RateLimit {
  owner: string
  spent: number
}

/** Subtracts the spent tokens from the shared buckets, and returns the tokens left in each, which may be negative. */
export type SyncRateLimits = (
  at: Date,
  usages: readonly TokenUsage[],
) => Promise<{ owner: string; tokens: number }[]>

export interface SharedRateLimiter extends RateLimiter {
  stop(): void
}

interface Needs {
  clock: Clock
  log: Log
  sync: SyncRateLimits
}

const SYNC_INTERVAL_MS = 100

// The backoff after an error. Each process continues with its local buckets: a rate limit must not stop payments
// while the database is unreachable.
const ERROR_BACKOFF_MS = 2_000

export function createSharedRateLimiter({ clock, log, sync }: Needs): SharedRateLimiter {
  const localBuckets = createRateLimiter(clock)
  const unsynced = new Map<string, TokenUsage>()
  const stopping = new AbortController()
  let isSyncing = false

  const recordSpent = (owner: string, limit: RateLimit, spent: number): void => {
    unsynced.set(owner, { ...limit, owner, spent: (unsynced.get(owner)?.spent ?? 0) + spent })
    if (!isSyncing) void syncLoop()
  }

  const syncLoop = async (): Promise<void> => {
    isSyncing = true
    let waitMs = SYNC_INTERVAL_MS
    while (unsynced.size > 0 && !stopping.signal.aborted) {
      await clock.sleep(waitMs, stopping.signal)
      waitMs = (await syncOnce()) ? SYNC_INTERVAL_MS : ERROR_BACKOFF_MS
    }
    isSyncing = false
  }

  const syncOnce = async (): Promise<boolean> => {
    const usages = [...unsynced.values()]
    unsynced.clear()
    const at = clock.now()
    try {
      for (const { owner, tokens } of await sync(at, usages))
        localBuckets.correct(owner, tokens - (unsynced.get(owner)?.spent ?? 0), at.getTime())
      return true
    } catch (error) {
      log.write('http.rate_limit_sync_failed', errorFields(error))
      for (const { owner, spent, perSecond, burst } of usages) recordSpent(owner, { perSecond, burst }, spent)
      return false
    }
  }

  return {
    take(owner, limit, cost = 1) {
      const result = localBuckets.take(owner, limit, cost)
      if (result.allowed) recordSpent(owner, limit, cost)
      return result
    },
    correct: localBuckets.correct,
    size: localBuckets.size,
    stop: () => stopping.abort(),
  }
}
