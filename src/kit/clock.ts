// Time is an argument everywhere, so that the whole service can run in simulated time.

import { setTimeout as delay } from 'node:timers/promises'

export interface Clock {
  now(): Date
  /** Resolves after the time has passed, or as soon as the signal aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, { signal })
    } catch (error) {
      if (!signal?.aborted) throw error
    }
  },
}

export function addMs(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}
