// Answers that are remembered for a while: what is asked for by every request and changes once in a month. Callers that
// miss together share one question, and a failure is not remembered. What is asked for all the time can be renewed beside
// the requests, many keys at once, so that no request waits for it.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from './clock.ts'

export interface Memory<Value> {
  get(key: string): Promise<Value>
  /** The next caller asks again. */
  forget(key: string): void
  readonly size: number
}

export interface MemoryOptions<Value> {
  clock: Clock
  rememberedMs: number
  /** Beyond them the oldest answer goes, so that a flood of keys cannot fill the memory. */
  maxEntries: number
  read: (key: string) => Promise<Value>
  /** Renews what is asked for again and again before it has aged, until this ends. An answer of undefined is not renewed. */
  renewedUntil?: AbortSignal
}

interface Entry<Value> {
  startedAt: number
  usedAt: number
  /** Asked for more than once: who tries keys that nobody has does not make us go on asking for them. */
  isInUse: boolean
  answer: Promise<Value>
}

/** What nobody has asked for in this time is not in use any more. */
const IN_USE_MS = 30_000
/** What one round renews at the very most: beyond it requests ask for themselves. */
const MAX_RENEWED = 5_000

export function createMemory<Value>(options: MemoryOptions<Value>): Memory<Value> {
  const { clock, rememberedMs, maxEntries, read, renewedUntil } = options
  const entries = new Map<string, Entry<Value>>()
  let areRoundsUnderWay = false
  // The rounds are nobody's request, whoever was the first to ask.
  const outside = AsyncLocalStorage.snapshot()

  const put = (key: string, entry: Entry<Value>): void => {
    // Deleted first, so that the map stays in the order of age and its first entry is the oldest.
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
  }

  const isRenewed = ({ isInUse, usedAt }: Entry<Value>, now: number): boolean =>
    isInUse && now >= usedAt && now - usedAt < IN_USE_MS

  /** Round after round while there is something to renew. The next waits for the one before, however long that takes. */
  const renewInRounds = async (until: AbortSignal): Promise<void> => {
    areRoundsUnderWay = true
    let isNeeded = true
    while (isNeeded && !until.aborted) {
      await clock.sleep(rememberedMs / 2, until)
      if (until.aborted) break
      const now = clock.now().getTime()
      const renewed = [...entries].filter(([, entry]) => isRenewed(entry, now)).slice(-MAX_RENEWED)
      await Promise.all(renewed.map(([key, entry]) => renew(key, entry, now)))
      isNeeded = renewed.length > 0
    }
    areRoundsUnderWay = false
  }

  const renew = async (key: string, known: Entry<Value>, startedAt: number): Promise<void> => {
    try {
      if ((await known.answer) === undefined) return
      const answer = read(key)
      await answer
      // Forgotten or asked for anew in the meantime, what is there now is newer.
      if (entries.get(key) === known) put(key, { startedAt, usedAt: known.usedAt, isInUse: true, answer })
    } catch {
      // Nobody waits for it: whoever asks when it has aged is told what is wrong.
    }
  }

  return {
    get(key) {
      const now = clock.now().getTime()
      const entry = entries.get(key)
      // A clock that was set back must not make an entry live longer.
      if (entry && now >= entry.startedAt && now - entry.startedAt < rememberedMs) {
        entry.usedAt = now
        entry.isInUse = true
        if (renewedUntil && !areRoundsUnderWay) void outside(renewInRounds, renewedUntil)
        return entry.answer
      }
      const fresh: Entry<Value> = { startedAt: now, usedAt: now, isInUse: false, answer: read(key) }
      put(key, fresh)
      fresh.answer.catch(() => {
        // The callers are told by the promise itself; the next one asks again instead of sharing a failure.
        if (entries.get(key) === fresh) entries.delete(key)
      })
      return fresh.answer
    },
    forget: (key) => void entries.delete(key),
    get size() {
      return entries.size
    },
  }
}
