// Background work: rows that are due, claimed by the job itself with `for update skip locked`, so that any number of
// processes share it. This module only says when a job looks again, and how much of it runs at once.

import type { Clock } from './clock.ts'
import type { Counters } from './observability/counters.ts'
import { errorFields, type Log } from './observability/log.ts'
import { jittered, type Random } from './random.ts'

interface JobBase {
  name: string
  /** How long to wait when nothing was due. */
  intervalMs: number
}

/** Does what is due in one go; answers how much that was. More than nothing means: look again at once. */
interface BulkJob extends JobBase {
  run: () => Promise<number>
}

/** Claims single pieces of work that may take long. A slow one does not hold the next claim up. */
interface TaskJob extends JobBase {
  concurrency: number
  /** The end of a piece may have made room for another one of its kind, so it looks again then. */
  claimsAfterEach?: boolean
  claim: (limit: number) => Promise<(() => Promise<void>)[]>
}

export type Job = BulkJob | TaskJob

export interface JobRunner {
  /** Nothing new is claimed; what is under way ends first. */
  stop(): Promise<void>
}

interface Needs {
  clock: Clock
  random: Random
  log: Log
  counters?: Counters
}

// After an error a job rests, so that a broken database or gateway is not hammered.
const ERROR_BACKOFF_MS = 2_000

export function startJobs(app: Needs, jobs: Job[]): JobRunner {
  const stopping = new AbortController()
  const loops = jobs.map((job) =>
    'run' in job ? runBulk(app, job, stopping.signal) : runTasks(app, job, stopping.signal),
  )
  return {
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

async function runBulk(app: Needs, job: BulkJob, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const done = await runLogged(app, job, job.run)
    if (done !== undefined && done > 0) continue
    await sleepBeforePoll(app, job, done === undefined, signal)
  }
}

async function runTasks(app: Needs, job: TaskJob, signal: AbortSignal): Promise<void> {
  const inFlight = new Set<Promise<void>>()
  while (!signal.aborted) {
    const freeSlots = job.concurrency - inFlight.size
    if (freeSlots === 0) {
      await Promise.race(inFlight)
      continue
    }
    const tasks = await runLogged(app, job, () => job.claim(freeSlots))
    for (const task of tasks ?? []) {
      const running: Promise<void> = runLogged(app, job, task).then(() => void inFlight.delete(running))
      inFlight.add(running)
    }
    if (tasks && tasks.length > 0) continue
    const ends = job.claimsAfterEach && tasks ? inFlight : new Set<Promise<void>>()
    await sleepUntilTaskEnds(ends, signal, (until) => sleepBeforePoll(app, job, tasks === undefined, until))
  }
  await Promise.all(inFlight)
}

/** Rests until one of the pieces ends; nobody goes on sleeping after that. */
async function sleepUntilTaskEnds(
  ends: ReadonlySet<Promise<void>>,
  signal: AbortSignal,
  sleep: (until: AbortSignal) => Promise<void>,
): Promise<void> {
  if (ends.size === 0) return sleep(signal)
  const waker = new AbortController()
  const wake = () => waker.abort()
  signal.addEventListener('abort', wake)
  if (!signal.aborted) await Promise.race([sleep(waker.signal), ...ends])
  signal.removeEventListener('abort', wake)
  wake()
}

function sleepBeforePoll(app: Needs, job: JobBase, afterError: boolean, signal: AbortSignal): Promise<void> {
  return app.clock.sleep(jittered(app.random, afterError ? ERROR_BACKOFF_MS : job.intervalMs), signal)
}

async function runLogged<Result>(
  app: Needs,
  job: JobBase,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    app.counters?.add('job_failures', job.name)
    app.log.write('job.failed', { job: job.name, ...errorFields(error) })
    return undefined
  }
}
