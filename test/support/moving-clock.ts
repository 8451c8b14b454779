// Clocks that a test moves forward: hours pass at once, while sleepers still sleep in real time.

import { type Clock, systemClock } from '../../src/kit/clock.ts'

export interface MovingClock extends Clock {
  advance(ms: number): void
}

/** Goes on by itself, at this part of the speed of ours, and further when it is moved. */
export function movingClock(speed = 1): MovingClock {
  const startedMs = Date.now()
  return clockOver(() => startedMs + (Date.now() - startedMs) * speed)
}

/** Stands still until it is moved, for what counts by the second. */
export function stoppedClock(startedAt = new Date()): MovingClock {
  return clockOver(() => startedAt.getTime())
}

function clockOver(nowMs: () => number): MovingClock {
  let aheadMs = 0
  return {
    now: () => new Date(nowMs() + aheadMs),
    sleep: systemClock.sleep,
    advance(ms) {
      aheadMs += ms
    },
  }
}
