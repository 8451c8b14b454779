import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import type { Job } from '../kit/jobs.ts'
import { purgeIdleBuckets } from './rate-limit-queries.ts'

// The largest bucket at the lowest rate is full after twelve days; most are full after seconds.
const IDLE_BUCKET_MS = 14 * 24 * 3_600_000

export function apiKeyJobs(app: { instanceDb: Db; clock: Clock }): Job[] {
  return [
    {
      name: 'purge-rate-limit-buckets',
      intervalMs: 600_000,
      run: () => purgeIdleBuckets(app.instanceDb, addMs(app.clock.now(), -IDLE_BUCKET_MS)),
    },
  ]
}
