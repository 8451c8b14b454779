// Answers that are remembered for a while: what is asked for by every request and changes once in a month. Callers that
// miss together share one question, and a failure is not remembered.

import type { Clock } from './clock.ts'

export interface Memory<Value> {
  get(key: string): Promise<Value>
  /** The next caller asks again. */
  forget(key: string): void
}

export interface MemoryOptions<Value> {
  clock: Clock
  rememberedMs: number
  /** Beyond them the oldest answer goes, so that a flood of keys cannot fill the memory. */
  maxEntries: number
  read: (key: string) => Promise<Value>
}

interface Entry<Value> {
  startedAt: number
  answer: Promise<Value>
}

export function createMemory<Value>(options: MemoryOptions<Value>): Memory<Value> {
  const { clock, rememberedMs, maxEntries, read } = options
  const entries = new Map<string, Entry<Value>>()
  return {
    get(key) {
      const now = clock.now().getTime()
      const entry = entries.get(key)
      // A clock that was set back must not make an entry live longer.
      if (entry && now >= entry.startedAt && now - entry.startedAt < rememberedMs) return entry.answer
      const fresh: Entry<Value> = { startedAt: now, answer: read(key) }
      // Deleted first, so that the map stays in the order of age and its first entry is the oldest.
      entries.delete(key)
      entries.set(key, fresh)
      const [oldest] = entries.keys()
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
      fresh.answer.catch(() => {
        // The callers are told by the promise itself; the next one asks again instead of sharing a failure.
        if (entries.get(key) === fresh) entries.delete(key)
      })
      return fresh.answer
    },
    forget: (key) => void entries.delete(key),
  }
}
