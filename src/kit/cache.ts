// A cache with a TTL, for values that every request reads and that rarely change. Concurrent misses share one load
// (single flight), and a failure is not kept. Entries in use can be refreshed in the background, many keys at once, so
// that no request waits for a load.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from './clock.ts'

export interface Cache<Value> {
  get(key: string): Promise<Value>
  /** The next caller loads the value again. */
  invalidate(key: string): void
  readonly size: number
}

export interface CacheOptions<Value> {
  clock: Clock
  ttlMs: number
  /** Beyond this the oldest entry is evicted, so that many keys cannot fill the memory. */
  maxEntries: number
  load: (key: string) => Promise<Value>
  /**
   * Refreshes entries in use before their TTL ends, until this signal aborts. A value of undefined is not refreshed.
   */
  refreshUntil?: AbortSignal
}

interface Entry<Value> {
  loadedAt: number
  usedAt: number
  /** Read more than once: a caller that guesses keys must not make us refresh them. */
  isInUse: boolean
  value: Promise<Value>
}

/** An entry that was not read for this long is not in use any more. */
const IN_USE_MS = 30_000
/** The maximum number of entries that one round refreshes; requests load the others themselves. */
const MAX_REFRESHED = 5_000

export function createCache<Value>(options: CacheOptions<Value>): Cache<Value> {
  const { clock, ttlMs, maxEntries, load, refreshUntil } = options
  const entries = new Map<string, Entry<Value>>()
  let isRefreshing = false
  // Refreshes run outside any request's async context.
  const runOutsideRequest = AsyncLocalStorage.snapshot()

  const put = (key: string, entry: Entry<Value>): void => {
    // Deleted first: the map stays ordered by age, and its first entry is the oldest.
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
  }

  const shouldRefresh = ({ isInUse, usedAt }: Entry<Value>, now: number): boolean =>
    isInUse && now >= usedAt && now - usedAt < IN_USE_MS

  /** One round after another while there are entries to refresh. A round waits for the one before. */
  const refreshLoop = async (until: AbortSignal): Promise<void> => {
    isRefreshing = true
    let isNeeded = true
    while (isNeeded && !until.aborted) {
      await clock.sleep(ttlMs / 2, until)
      if (until.aborted) break
      const now = clock.now().getTime()
      const refreshed = [...entries].filter(([, entry]) => shouldRefresh(entry, now)).slice(-MAX_REFRESHED)
      await Promise.all(refreshed.map(([key, entry]) => refresh(key, entry, now)))
      isNeeded = refreshed.length > 0
    }
    isRefreshing = false
  }

  const refresh = async (key: string, stale: Entry<Value>, loadedAt: number): Promise<void> => {
    try {
      if ((await stale.value) === undefined) return
      const value = load(key)
      await value
      // If the entry was invalidated or reloaded in the meantime, the current one is newer.
      if (entries.get(key) === stale) put(key, { loadedAt, usedAt: stale.usedAt, isInUse: true, value })
    } catch {
      // No caller waits for a refresh: the next load after the TTL reports the error.
    }
  }

  return {
    get(key) {
      const now = clock.now().getTime()
      const entry = entries.get(key)
      // If the clock was set back, an entry must not live longer.
      if (entry && now >= entry.loadedAt && now - entry.loadedAt < ttlMs) {
        entry.usedAt = now
        entry.isInUse = true
        if (refreshUntil && !isRefreshing) void runOutsideRequest(refreshLoop, refreshUntil)
        return entry.value
      }
      const fresh: Entry<Value> = { loadedAt: now, usedAt: now, isInUse: false, value: load(key) }
      put(key, fresh)
      fresh.value.catch(() => {
        // The promise rejects for its callers; the next caller loads again instead of sharing the failure.
        if (entries.get(key) === fresh) entries.delete(key)
      })
      return fresh.value
    },
    invalidate: (key) => void entries.delete(key),
    get size() {
      return entries.size
    },
  }
}
