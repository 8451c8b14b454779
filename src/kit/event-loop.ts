// Long work in one process: it gives the event loop back between its steps, so that other requests run meanwhile.

import { setImmediate } from 'node:timers/promises'

/** Resolves one turn of the event loop after the call before it, however many callers wait. */
export function createTurnQueue(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => setImmediate())
    return last
  }
}
