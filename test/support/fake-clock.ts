// Clocks that a test moves forward: hours pass at once, while sleepers still sleep in real time.

import { type Clock, systemClock } from '../../src/kit/clock.ts'

export interface FakeClock extends Clock {
  advance(ms: number): void
}

/** Goes on by itself, at this part of the speed of ours, and further when it is moved. */
export function tickingClock(speed = 1): FakeClock {
  const startedMs = Date.now()
  return createFakeClock(() => startedMs + (Date.now() - startedMs) * speed)
}

/** Stands still until it is moved, for what counts by the second. */
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
