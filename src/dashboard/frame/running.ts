// How many requests of one person run at once, in one process. A person who opens forty searches must not use all connections
// to the database, while others wait.

import { ApiError } from '../../core/errors.ts'
import type { Clock } from '../../kit/clock.ts'

export interface RunningRequests {
  /** Runs the work as soon as fewer than MOST_RUNNING others of the person run; rejects after MAX_WAIT_MS. */
  run<Result>(userId: string, work: () => Promise<Result>): Promise<Result>
}

/** As many as a browser sends to one host over HTTP/1.1: a person with tabs is not slowed down. */
export const MOST_RUNNING = 6
/** Then the page says why, before the person thinks that it hangs. */
export const MAX_WAIT_MS = 1_000
const RETRY_AFTER_SECONDS = 2

interface OfPerson {
  running: number
  /** Starts each request that waits, the first one first. */
  waiting: Set<() => void>
}

export function createRunningRequests(clock: Pick<Clock, 'sleep'>): RunningRequests {
  const people = new Map<string, OfPerson>()

  const release = (userId: string, person: OfPerson) => {
    person.running -= 1
    const [next] = person.waiting
    if (next) next()
    else if (person.running === 0) people.delete(userId)
  }

  return {
    async run(userId, work) {
      const person = people.get(userId) ?? { running: 0, waiting: new Set() }
      people.set(userId, person)
      if (person.running >= MOST_RUNNING) await waitFor(person, clock)
      else person.running += 1
      try {
        return await work()
      } finally {
        release(userId, person)
      }
    },
  }
}

/** The request that starts this one has counted it. */
async function waitFor(person: OfPerson, clock: Pick<Clock, 'sleep'>): Promise<void> {
  const started = new AbortController()
  const start = () => {
    person.waiting.delete(start)
    person.running += 1
    started.abort()
  }
  person.waiting.add(start)
  await clock.sleep(MAX_WAIT_MS, started.signal)
  if (started.signal.aborted) return
  person.waiting.delete(start)
  throw new ApiError('rate_limited', { retryAfterSeconds: RETRY_AFTER_SECONDS })
}
