// Answers that are remembered for a while: what is asked for by every request and changes once in a month. Callers that
// miss together share one question, and a failure is not remembered. What is asked for all the time can be renewed beside
// the requests, many keys at once, so that no request waits for it.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from './clock.ts'

export interface Cache<Value> {
  get(key: string): Promise<Value>
  /** The next caller asks again. */
  invalidate(key: string): void
  readonly size: number
}

export interface CacheOptions<Value> {
  clock: Clock
  ttlMs: number
  /** Beyond them the oldest value goes, so that a flood of keys cannot fill the memory. */
  maxEntries: number
  load: (key: string) => Promise<Value>
  /** Renews what is asked for again and again before it has aged, until this ends. An value of undefined is not renewed. */
  refreshUntil?: AbortSignal
}

interface Entry<Value> {
  loadedAt: number
  usedAt: number
  /** Asked for more than once: who tries keys that nobody has does not make us go on asking for them. */
  isInUse: boolean
  value: Promise<Value>
}

/** What nobody has asked for in this time is not in use any more. */
const IN_USE_MS = 30_000
/** What one round renews at the very most: beyond it requests ask for themselves. */
const MAX_REFRESHED = 5_000

export function createCache<Value>(options: CacheOptions<Value>): Cache<Value> {
  const { clock, ttlMs, maxEntries, load, refreshUntil } = options
  const entries = new Map<string, Entry<Value>>()
  let isRefreshing = false
  // The rounds are nobody's request, whoever was the first to ask.
  const runOutsideRequest = AsyncLocalStorage.snapshot()

  const put = (key: string, entry: Entry<Value>): void => {
    // Deleted first, so that the map stays in the order of age and its first entry is the oldest.
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
  }

  const shouldRefresh = ({ isInUse, usedAt }: Entry<Value>, now: number): boolean =>
    isInUse && now >= usedAt && now - usedAt < IN_USE_MS

  /** Round after round while there is something to renew. The next waits for the one before, however long that takes. */
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
      // Forgotten or asked for anew in the meantime, what is there now is newer.
      if (entries.get(key) === stale) put(key, { loadedAt, usedAt: stale.usedAt, isInUse: true, value })
    } catch {
      // Nobody waits for it: whoever asks when it has aged is told what is wrong.
    }
  }

  return {
    get(key) {
      const now = clock.now().getTime()
      const entry = entries.get(key)
      // A clock that was set back must not make an entry live longer.
      if (entry && now >= entry.loadedAt && now - entry.loadedAt < ttlMs) {
        entry.usedAt = now
        entry.isInUse = true
        if (refreshUntil && !isRefreshing) void runOutsideRequest(refreshLoop, refreshUntil)
        return entry.value
      }
      const fresh: Entry<Value> = { loadedAt: now, usedAt: now, isInUse: false, value: load(key) }
      put(key, fresh)
      fresh.value.catch(() => {
        // The callers are told by the promise itself; the next one asks again instead of sharing a failure.
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
