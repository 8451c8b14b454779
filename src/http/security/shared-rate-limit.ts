// Token buckets that every process of an installation shares, on however many machines. A process works on localBuckets of
// its own, so that no request waits for another process, and tells the database every tenth of a second what it has
// spent: the table holds the true buckets, and a copy is at most that old. What several processes let through in such a
// moment beyond the limit is owed, so that over a few seconds the limit is what it says.

import type { RateLimit } from '../../core/rate-limit.ts'
import type { Clock } from '../../kit/clock.ts'
import { errorFields, type Log } from '../../kit/log.ts'
import { createRateLimiter, type RateLimiter } from './rate-limit.ts'

/** What one process has spent of a bucket since it told last. */
export interface TokenUsage extends RateLimit {
  owner: string
  spent: number
}

/** Takes what was spent from the buckets of all; answers what is left in each, which may be less than nothing. */
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

// After an error nobody is told for a while, and each process goes on by what it knows: a limit must not be what stops
// payments while the database rests.
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
    take(owner, limit) {
      const result = localBuckets.take(owner, limit)
      if (result.allowed) recordSpent(owner, limit, 1)
      return result
    },
    correct: localBuckets.correct,
    size: localBuckets.size,
    stop: () => stopping.abort(),
  }
}
