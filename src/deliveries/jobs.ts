import { addMs } from '../kit/clock.ts'
import type { Job } from '../kit/jobs.ts'
import type { DeliveriesApp } from './app.ts'
import { claimDeliveries, newClaimState } from './claim.ts'
import {
  deadLetterDeliveries,
  maintainPartitions,
  purgeDeliveries,
  purgeEndpoints,
} from './maintenance-queries.ts'
import { CONCURRENCY } from './pools.ts'
import { RETENTION_DAYS } from './replay.ts'
import { purgeReplays, replayBatch } from './replay-queries.ts'

const DAY_MS = 24 * 3_600_000
// The first attempt of a delivery can be this much older than the last one, with every retry and its jitter.
const MAX_DELIVERY_DAYS = 5

export function deliveryJobs(app: DeliveriesApp, retentionDays = RETENTION_DAYS): Job[] {
  const state = newClaimState()
  const purgeBefore = () => addMs(app.clock.now(), -retentionDays * DAY_MS)
  return [
    {
      name: 'deliver-events',
      intervalMs: 200,
      concurrency: CONCURRENCY,
      claimsAfterEach: true,
      claim: (limit) => claimDeliveries(app, limit, state),
    },
    {
      name: 'replay-events',
      intervalMs: 500,
      run: async () => ((await replayBatch(app.db, app.clock.now(), purgeBefore())) ? 1 : 0),
    },
    {
      name: 'dead-letter-deliveries',
      intervalMs: 2_000,
      run: () => deadLetterDeliveries(app.db, app.clock.now()),
    },
    {
      name: 'purge-deliveries',
      intervalMs: 600_000,
      run: () => purgeDeliveries(app.db, purgeBefore()),
    },
    {
      name: 'maintain-delivery-partitions',
      intervalMs: 3_600_000,
      run: () => maintainPartitions(app.db, retentionDays + MAX_DELIVERY_DAYS),
    },
    {
      name: 'purge-replays',
      intervalMs: 600_000,
      run: () => purgeReplays(app.db, purgeBefore()),
    },
    {
      name: 'purge-endpoints',
      intervalMs: 600_000,
      run: () => purgeEndpoints(app.db, purgeBefore()),
    },
  ]
}
