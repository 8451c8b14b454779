import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import type { Job } from '../kit/jobs.ts'
import { purgeRequests } from './queries.ts'

const DAY_MS = 24 * 3_600_000

/** Beside the age, so that the log of a busy merchant stays small enough to be read without further indexes. */
const KEPT_PER_MERCHANT = 100_000

export function requestLogJobs({ db, clock }: { db: Db; clock: Clock }, days: number): Job[] {
  return [
    {
      name: 'purge-request-log',
      intervalMs: 600_000,
      run: () => purgeRequests(db, addMs(clock.now(), -days * DAY_MS), KEPT_PER_MERCHANT),
    },
  ]
}
