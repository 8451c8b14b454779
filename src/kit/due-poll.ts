// A service polls for its jobs with one statement: it returns when each next has due work, and only then the job claims.
// It polls again soon after this process has written; an idle process polls once a second, for work that others have
// recorded. Nothing depends on the session, so a pooler may be between.

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
  /** By the name of the job: when it next has due work, or may have some. Absent: it has none. */
  find: () => Promise<Map<string, Date>>
  /** How often this process has written: after that, there may be new work. */
  writeCount: () => number
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
  /** The tick at which the interval of the job has passed. */
  nextTick: number
  wake: () => void
}

// The shortest interval of a job. The interval of any other is rounded up to a multiple of it.
const TICK_MS = 200
// A poll each second: so late may an idle process find the work of another one.
const IDLE_TICKS = 5

/** Polls until the signal aborts. */
export function startDuePoll(
  app: { clock: Clock; random: Random },
  { names, find, writeCount }: DueJobs,
  signal: AbortSignal,
): DuePoll {
  const waiting = new Set<Waiting>()
  let tick = 0
  let nextPoll = 0
  let writesSeen = writeCount()
  let dueTimes: Map<string, Date> | undefined

  const poll = async () => {
    nextPoll = tick + IDLE_TICKS
    // Counted before: a later write may not be visible to this poll.
    writesSeen = writeCount()
    dueTimes = await find().catch(() => undefined)
  }

  const run = async () => {
    while (!signal.aborted) {
      await app.clock.sleep(jittered(app.random, TICK_MS), signal)
      tick += 1
      const asking = [...waiting].filter(({ nextTick }) => nextTick <= tick)
      if (asking.length === 0) continue
      if (tick >= nextPoll || writeCount() !== writesSeen) await poll()
      for (const one of asking) if (takeDue(one.job)) one.wake()
    }
  }

  /** Each due time wakes its job once, until the next poll. After an error every job claims, and reports it as its own. */
  const takeDue = ({ name }: PolledJob): boolean => {
    if (!dueTimes) return true
    const at = dueTimes.get(name)
    return at !== undefined && at <= app.clock.now() && dueTimes.delete(name)
  }

  const waitFrom = (nextTick: number, job: PolledJob, until: AbortSignal) =>
    new Promise<void>((resolve) => {
      const one: Waiting = { job, nextTick, wake }
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
    waitForWork: (job, until) => waitFrom(tick + ticksPerInterval(job), job, until),
    waitForFirstWork: (job, until) => waitFrom(tick + 1, job, until),
  }
}

function ticksPerInterval({ intervalMs }: PolledJob): number {
  return Math.ceil(intervalMs / TICK_MS)
}
