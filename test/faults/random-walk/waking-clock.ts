// A clock that a test moves forward, and that wakes whoever has slept long enough by it: hours of background work are
// done in the moment in which the hours pass.

import type { FakeClock } from '../../support/fake-clock.ts'

interface Sleeper {
  until: number
  wake(): void
}

export function wakingClock(): FakeClock {
  const sleepers = new Set<Sleeper>()
  let offsetMs = 0
  const now = () => Date.now() + offsetMs
  return {
    now: () => new Date(now()),
    sleep: (ms, signal) => sleepIn(sleepers, now() + ms, ms, signal),
    advance(ms) {
      offsetMs += ms
      for (const { until, wake } of [...sleepers]) if (until <= now()) wake()
    },
  }
}

function sleepIn(sleepers: Set<Sleeper>, until: number, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const sleeper: Sleeper = { until, wake }
    const timer = setTimeout(wake, ms)
    sleepers.add(sleeper)
    signal?.addEventListener('abort', wake)
    function wake() {
      clearTimeout(timer)
      sleepers.delete(sleeper)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
  })
}
