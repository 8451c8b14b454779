// A clock that a test moves forward: hours pass at once, while sleepers still sleep in real time.

import { type Clock, systemClock } from '../../src/kit/clock.ts'

export interface MovingClock extends Clock {
  advance(ms: number): void
}

export function movingClock(): MovingClock {
  let aheadMs = 0
  return {
    now: () => new Date(Date.now() + aheadMs),
    sleep: systemClock.sleep,
    advance(ms) {
      aheadMs += ms
    },
  }
}
