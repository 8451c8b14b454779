import { addMs } from '../kit/clock.ts'
import type { Job } from '../kit/jobs.ts'
import type { WebhooksApp } from './app.ts'
import { claimDeliveries, newRounds } from './claim.ts'
import { clearPreviousSecrets } from './endpoint-queries.ts'
import { CONCURRENCY } from './lanes.ts'
import { KEPT_DAYS } from './replay.ts'
import { forgetReplays, replaySlice } from './replay-queries.ts'
import { buryDeliveries, forgetDeliveries, forgetEndpoints, keepMonthsOfTries } from './upkeep-queries.ts'

const DAY_MS = 24 * 3_600_000
// The first try of a delivery is so much older than its end, with every retry and its jitter.
const LONGEST_DELIVERY_DAYS = 5

export function webhookJobs(app: WebhooksApp, keptDays = KEPT_DAYS): Job[] {
  const rounds = newRounds()
  const forgottenBefore = () => addMs(app.clock.now(), -keptDays * DAY_MS)
  return [
    {
      name: 'deliver-events',
      intervalMs: 200,
      concurrency: CONCURRENCY,
      claimsAfterEach: true,
      claim: (limit) => claimDeliveries(app, limit, rounds),
    },
    {
      name: 'replay-events',
      intervalMs: 500,
      run: async () => ((await replaySlice(app.db, app.clock.now(), forgottenBefore())) ? 1 : 0),
    },
    {
      name: 'dead-letter-deliveries',
      intervalMs: 2_000,
      run: () => buryDeliveries(app.db, app.clock.now()),
    },
    {
      name: 'clear-previous-secrets',
      intervalMs: 60_000,
      run: () => clearPreviousSecrets(app.db, app.clock.now()),
    },
    {
      name: 'purge-deliveries',
      intervalMs: 600_000,
      run: () => forgetDeliveries(app.db, forgottenBefore()),
    },
    {
      name: 'maintain-delivery-partitions',
      intervalMs: 3_600_000,
      run: () => keepMonthsOfTries(app.db, keptDays + LONGEST_DELIVERY_DAYS),
    },
    {
      name: 'purge-replays',
      intervalMs: 600_000,
      run: () => forgetReplays(app.db, forgottenBefore()),
    },
    {
      name: 'purge-endpoints',
      intervalMs: 600_000,
      run: () => forgetEndpoints(app.db, forgottenBefore()),
    },
  ]
}
