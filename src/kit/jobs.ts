// Background work: rows that are due, claimed by the job itself with `for update skip locked`, so that any number of
// processes share it. This module only says when a job looks again, and how much of it runs at once.

import type { Clock } from './clock.ts'
import type { Counters } from './counters.ts'
import { errorFields, type Log } from './log.ts'
import { jittered, type Random } from './random.ts'

interface Named {
  name: string
  /** How long to wait when nothing was due. */
  everyMs: number
}

/** Does what is due in one go; answers how much that was. More than nothing means: look again at once. */
interface BulkJob extends Named {
  run: () => Promise<number>
}

/** Claims single pieces of work that may take long. A slow one does not hold the next claim up. */
interface PieceJob extends Named {
  concurrency: number
  /** The end of a piece may have made room for another one of its kind, so it looks again then. */
  looksAfterEach?: boolean
  claim: (limit: number) => Promise<(() => Promise<void>)[]>
}

export type Job = BulkJob | PieceJob

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
const REST_AFTER_ERROR_MS = 2_000

export function startJobs(app: Needs, jobs: Job[]): JobRunner {
  const stopping = new AbortController()
  const loops = jobs.map((job) =>
    'run' in job ? runBulk(app, job, stopping.signal) : runPieces(app, job, stopping.signal),
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
    const done = await attempt(app, job, job.run)
    if (done !== undefined && done > 0) continue
    await rest(app, job, done === undefined, signal)
  }
}

async function runPieces(app: Needs, job: PieceJob, signal: AbortSignal): Promise<void> {
  const underWay = new Set<Promise<void>>()
  while (!signal.aborted) {
    const room = job.concurrency - underWay.size
    if (room === 0) {
      await Promise.race(underWay)
      continue
    }
    const pieces = await attempt(app, job, () => job.claim(room))
    for (const piece of pieces ?? []) {
      const running: Promise<void> = attempt(app, job, piece).then(() => void underWay.delete(running))
      underWay.add(running)
    }
    if (pieces && pieces.length > 0) continue
    const ends = job.looksAfterEach && pieces ? underWay : new Set<Promise<void>>()
    await restUnless(ends, signal, (until) => rest(app, job, pieces === undefined, until))
  }
  await Promise.all(underWay)
}

/** Rests until one of the pieces ends; nobody goes on sleeping after that. */
async function restUnless(
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

function rest(app: Needs, job: Named, afterError: boolean, signal: AbortSignal): Promise<void> {
  return app.clock.sleep(jittered(app.random, afterError ? REST_AFTER_ERROR_MS : job.everyMs), signal)
}

async function attempt<Result>(
  app: Needs,
  job: Named,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    app.counters?.add('job_failures', job.name)
    app.log.error('job failed', { job: job.name, ...errorFields(error) })
    return undefined
  }
}
