// Token buckets that every process of an installation shares, on however many machines. A process works on copies of
// its own, so that no request waits for another process, and tells the database every tenth of a second what it has
// spent: the table holds the true buckets, and a copy is at most that old. What several processes let through in such a
// moment beyond the limit is owed, so that over a few seconds the limit is what it says.

import type { Clock } from '../kit/clock.ts'
import { errorFields, type Log } from '../kit/log.ts'
import { createRateLimiter, type RateLimit, type RateLimiter } from './rate-limit.ts'

/** What one process has spent of a bucket since it told last. */
export interface Spending extends RateLimit {
  owner: string
  spent: number
}

/** Takes what was spent from the buckets of all; answers what is left in each, which may be less than nothing. */
export type SharePaces = (
  at: Date,
  spendings: readonly Spending[],
) => Promise<{ owner: string; tokens: number }[]>

export interface SharedLimiter extends RateLimiter {
  stop(): void
}

interface Needs {
  clock: Clock
  log: Log
  share: SharePaces
}

const TELL_EVERY_MS = 100

// After an error nobody is told for a while, and each process goes on by what it knows: a limit must not be what stops
// payments while the database rests.
const REST_AFTER_ERROR_MS = 2_000

export function createSharedLimiter({ clock, log, share }: Needs): SharedLimiter {
  const copies = createRateLimiter(clock)
  const untold = new Map<string, Spending>()
  const stopping = new AbortController()
  let isTelling = false

  const note = (owner: string, limit: RateLimit, spent: number): void => {
    untold.set(owner, { ...limit, owner, spent: (untold.get(owner)?.spent ?? 0) + spent })
    if (!isTelling) void tell()
  }

  const tell = async (): Promise<void> => {
    isTelling = true
    let waitMs = TELL_EVERY_MS
    while (untold.size > 0 && !stopping.signal.aborted) {
      await clock.sleep(waitMs, stopping.signal)
      waitMs = (await tellOnce()) ? TELL_EVERY_MS : REST_AFTER_ERROR_MS
    }
    isTelling = false
  }

  const tellOnce = async (): Promise<boolean> => {
    const spendings = [...untold.values()]
    untold.clear()
    const at = clock.now()
    try {
      for (const { owner, tokens } of await share(at, spendings))
        copies.correct(owner, tokens - (untold.get(owner)?.spent ?? 0), at.getTime())
      return true
    } catch (error) {
      log.warn('what keys have spent could not be shared', errorFields(error))
      for (const { owner, spent, perSecond, burst } of spendings) note(owner, { perSecond, burst }, spent)
      return false
    }
  }

  return {
    take(owner, limit) {
      const permit = copies.take(owner, limit)
      if (permit.allowed) note(owner, limit, 1)
      return permit
    },
    correct: copies.correct,
    size: copies.size,
    stop: () => stopping.abort(),
  }
}
