// Background work: rows that are due, claimed by the job itself with `for update skip locked`, so that any number of
// processes share it. This module only says when a job looks again.

import type { Clock } from './clock.ts'
import { errorFields, type Log } from './log.ts'
import { jittered, type Random } from './random.ts'

export interface Job {
  name: string
  /** How long to wait when nothing was due. */
  everyMs: number
  /** Claims and does what is due; answers how much that was. More than nothing means: look again at once. */
  run: () => Promise<number>
}

export interface JobRunner {
  stop(): Promise<void>
}

// After an error a job rests, so that a broken database or gateway is not hammered.
const REST_AFTER_ERROR_MS = 2_000

export function startJobs(app: { clock: Clock; random: Random; log: Log }, jobs: Job[]): JobRunner {
  const stopping = new AbortController()
  const loops = jobs.map((job) => loop(app, job, stopping.signal))
  return {
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

async function loop(
  app: { clock: Clock; random: Random; log: Log },
  job: Job,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const done = await runOnce(app, job)
    if (done === undefined) await app.clock.sleep(jittered(app.random, REST_AFTER_ERROR_MS), signal)
    else if (done === 0) await app.clock.sleep(jittered(app.random, job.everyMs), signal)
  }
}

async function runOnce(app: { log: Log }, job: Job): Promise<number | undefined> {
  try {
    return await job.run()
  } catch (error) {
    app.log.error('job failed', { job: job.name, ...errorFields(error) })
    return undefined
  }
}
