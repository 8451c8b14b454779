// Work of a request that its response does not wait for. A stopping service waits for it.

import { errorFields, type Log } from '../observability/log.ts'

export interface Background {
  /** Starts the work soon after the present step. A failure is logged. */
  run(work: () => Promise<unknown>): void
  /** Resolves when all work that was started has ended. */
  settled(): Promise<void>
}

export function createBackground({ log }: { log: Log }): Background {
  const running = new Set<Promise<void>>()
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    // The response is sent first.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      await work()
    } catch (error) {
      log.write('http.request_failed', errorFields(error))
    }
  }
  return {
    run(work) {
      const one = attempt(work).finally(() => running.delete(one))
      running.add(one)
    },
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
