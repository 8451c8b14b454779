// An idle service polls for its jobs with one statement: it returns which of them may have due work, and only these claim.
// Any number of processes poll beside each other, and nothing depends on the session, so a pooler may be between.

import type { Clock } from './clock.ts'
import { jittered, type Random } from './random.ts'

export interface PolledJob {
  name: string
  /** The poll interval when nothing was due. */
  intervalMs: number
}

export interface DueJobs {
  /** The jobs that `find` knows. The others claim at each poll. */
  names: readonly string[]
  /** The names of the jobs that may have due work: at least of those that would claim some. */
  find: () => Promise<ReadonlySet<string>>
}

export interface DuePoll {
  isPolled(job: PolledJob): boolean
  /** Resolves when the job may have due work, or as soon as the signal aborts. */
  waitForWork(job: PolledJob, signal: AbortSignal): Promise<void>
  /** The same at the start, when the interval of no job must pass first. */
  waitForFirstWork(job: PolledJob, signal: AbortSignal): Promise<void>
  /** Resolves after the last poll. */
  ended: Promise<void>
}

interface Waiting {
  job: PolledJob
  /** The poll at which the interval of the job has passed. */
  nextPoll: number
  wake: () => void
}

// The shortest interval of a job. The interval of any other is rounded up to a multiple of it.
const POLL_INTERVAL_MS = 200

/** Polls until the signal aborts. */
export function startDuePoll(
  app: { clock: Clock; random: Random },
  { names, find }: DueJobs,
  signal: AbortSignal,
): DuePoll {
  const waiting = new Set<Waiting>()
  let poll = 0

  const run = async () => {
    while (!signal.aborted) {
      await app.clock.sleep(jittered(app.random, POLL_INTERVAL_MS), signal)
      poll += 1
      const asking = [...waiting].filter(({ nextPoll }) => nextPoll <= poll)
      if (asking.length === 0) continue
      // After an error every job claims, and reports the error as its own.
      const due = await find().catch(() => undefined)
      for (const one of asking) {
        if (due === undefined || due.has(one.job.name)) one.wake()
        else one.nextPoll = poll + pollsPerInterval(one.job)
      }
    }
  }

  const waitFrom = (nextPoll: number, job: PolledJob, until: AbortSignal) =>
    new Promise<void>((resolve) => {
      const one: Waiting = { job, nextPoll, wake }
      function wake() {
        waiting.delete(one)
        until.removeEventListener('abort', wake)
        resolve()
      }
      if (until.aborted) return resolve()
      waiting.add(one)
      until.addEventListener('abort', wake)
    })

  return {
    ended: run(),
    isPolled: ({ name }) => names.includes(name),
    waitForWork: (job, until) => waitFrom(poll + pollsPerInterval(job), job, until),
    waitForFirstWork: (job, until) => waitFrom(poll + 1, job, until),
  }
}

function pollsPerInterval({ intervalMs }: PolledJob): number {
  return Math.ceil(intervalMs / POLL_INTERVAL_MS)
}
