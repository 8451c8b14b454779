// The time of a simulated action. Every action has a clock of its own, so that actions of different times run concurrently.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../kit/clock.ts'

const times = new AsyncLocalStorage<number>()

function currentTime(): number {
  const timeMs = times.getStore()
  if (timeMs === undefined) throw new Error('the simulated clock was read outside of an action')
  return timeMs
}

/** The services read it. It stands still during an action, so nothing waits. */
export const simulatedClock: Clock = {
  now: () => new Date(currentTime()),
  sleep: () => Promise.resolve(),
}

/** Runs an action at this time. */
export function runAt<Result>(timeMs: number, action: () => Promise<Result>): Promise<Result> {
  return times.run(timeMs, action)
}
