// Clocks that a test advances: hours pass at once, while sleeps still take real time.

import { type Clock, systemClock } from '../../src/kit/clock.ts'

export interface FakeClock extends Clock {
  advance(ms: number): void
}

/** Runs by itself at this fraction of real time, and jumps when it is advanced. */
export function tickingClock(speed = 1): FakeClock {
  const startedMs = Date.now()
  return createFakeClock(() => startedMs + (Date.now() - startedMs) * speed)
}

/** Stands still until it is advanced, for code that counts seconds. */
export function frozenClock(startedAt = new Date()): FakeClock {
  return createFakeClock(() => startedAt.getTime())
}

function createFakeClock(nowMs: () => number): FakeClock {
  let offsetMs = 0
  return {
    now: () => new Date(nowMs() + offsetMs),
    sleep: systemClock.sleep,
    advance(ms) {
      offsetMs += ms
    },
  }
}
