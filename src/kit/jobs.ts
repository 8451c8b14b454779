// Background jobs poll for due rows and claim them with `for update skip locked`, so that any number of processes share
// the work. This module decides when a job polls again, and how much of it runs at once.

import type { Clock } from './clock.ts'
import { type DueJobs, type DuePoll, type PolledJob, startDuePoll } from './due-poll.ts'
import type { Counters } from './observability/counters.ts'
import { errorFields, type Log } from './observability/log.ts'
import { jittered, type Random } from './random.ts'

/** Processes a batch of due work and returns its size. More than 0 means: poll again at once. */
interface BulkJob extends PolledJob {
  run: () => Promise<number>
}

/** Claims single tasks that may take long. A slow task does not delay the next claim. */
interface TaskJob extends PolledJob {
  concurrency: number
  /** The end of a task may have freed capacity for another one of its kind, so the job polls again then. */
  claimsAfterEach?: boolean
  claim: (limit: number) => Promise<(() => Promise<void>)[]>
}

export type Job = BulkJob | TaskJob

export interface JobRunner {
  /** Claims nothing new, and waits for the work in flight. */
  stop(): Promise<void>
}

interface Needs {
  clock: Clock
  random: Random
  log: Log
  counters?: Counters
}

interface Runner extends Needs {
  duePoll?: DuePoll
}

// The backoff after an error, so that a failing database or gateway is not flooded.
const ERROR_BACKOFF_MS = 2_000
// Between the first runs of two jobs that are not polled.
const START_INTERVAL_MS = 100

/** With `dueJobs`, the jobs that it knows claim only if they may have due work. */
export function startJobs(app: Needs, jobs: Job[], dueJobs?: DueJobs): JobRunner {
  const stopping = new AbortController()
  const duePoll = dueJobs && startDuePoll(app, dueJobs, stopping.signal)
  const runner = { ...app, duePoll }
  const loops = jobs.map(async (job, index) => {
    // If each claimed at once, the start would open a connection for each.
    if (duePoll?.isPolled(job)) await duePoll.waitForFirstWork(job, stopping.signal)
    else if (duePoll) await app.clock.sleep(index * START_INTERVAL_MS, stopping.signal)
    await ('run' in job ? runBulk(runner, job, stopping.signal) : runTasks(runner, job, stopping.signal))
  })
  return {
    async stop() {
      stopping.abort()
      await Promise.all([...loops, duePoll?.ended])
    },
  }
}

/** Runs each job once, without waiting for its next poll. Returns how much work was due. */
export async function runJobsNow(app: Needs, jobs: readonly Job[]): Promise<number> {
  let done = 0
  for (const job of jobs)
    done += 'run' in job ? ((await runLogged(app, job, job.run)) ?? 0) : await runTasksNow(app, job)
  return done
}

async function runTasksNow(app: Needs, job: TaskJob): Promise<number> {
  const tasks = (await runLogged(app, job, () => job.claim(job.concurrency))) ?? []
  await Promise.all(tasks.map((task) => runLogged(app, job, task)))
  return tasks.length
}

async function runBulk(app: Runner, job: BulkJob, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const done = await runLogged(app, job, job.run)
    if (done !== undefined && done > 0) continue
    await sleepBeforePoll(app, job, done === undefined, signal)
  }
}

async function runTasks(app: Runner, job: TaskJob, signal: AbortSignal): Promise<void> {
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

/** Waits until one of the tasks ends, and then cancels the other sleeps. */
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

function sleepBeforePoll(
  app: Runner,
  job: PolledJob,
  afterError: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (app.duePoll?.isPolled(job) && !afterError) return app.duePoll.waitForWork(job, signal)
  return app.clock.sleep(jittered(app.random, afterError ? ERROR_BACKOFF_MS : job.intervalMs), signal)
}

async function runLogged<Result>(
  app: Needs,
  job: PolledJob,
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
