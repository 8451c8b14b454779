// A clock that a test advances and that resolves due sleeps: hours of background jobs run at the moment of the advance.

import type { FakeClock } from '../../support/fake-clock.ts'

interface PendingSleep {
  until: number
  wake(): void
}

export function fakeTimerClock(): FakeClock {
  const pendingSleeps = new Set<PendingSleep>()
  let offsetMs = 0
  const now = () => Date.now() + offsetMs
  return {
    now: () => new Date(now()),
    sleep: (ms, signal) => sleepUntil(pendingSleeps, now() + ms, ms, signal),
    advance(ms) {
      offsetMs += ms
      for (const { until, wake } of [...pendingSleeps]) if (until <= now()) wake()
    },
  }
}

function sleepUntil(
  pendingSleeps: Set<PendingSleep>,
  until: number,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const pendingSleep: PendingSleep = { until, wake }
    const timer = setTimeout(wake, ms)
    pendingSleeps.add(pendingSleep)
    signal?.addEventListener('abort', wake)
    function wake() {
      clearTimeout(timer)
      pendingSleeps.delete(pendingSleep)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
  })
}
