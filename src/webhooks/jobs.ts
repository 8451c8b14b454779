import { addMs } from '../kit/clock.ts'
import type { Job } from '../kit/jobs.ts'
import type { WebhooksApp } from './app.ts'
import { CONCURRENCY, claimDeliveries } from './deliver.ts'
import { forgetReplays } from './replay-queries.ts'
import { buryDeliveries, forgetDeliveries } from './upkeep-queries.ts'

// Long enough to look into any trouble; the events themselves stay, and can be replayed at any time.
const KEPT_MS = 30 * 24 * 3_600_000

export function webhookJobs(app: WebhooksApp): Job[] {
  const underWay = new Map<string, number>()
  return [
    {
      name: 'deliver-events',
      everyMs: 200,
      concurrency: CONCURRENCY,
      looksAfterEach: true,
      claim: (limit) => claimDeliveries(app, limit, underWay),
    },
    {
      name: 'bury-deliveries',
      everyMs: 2_000,
      run: () => buryDeliveries(app.db, app.clock.now()),
    },
    {
      name: 'forget-deliveries',
      everyMs: 600_000,
      run: () => forgetDeliveries(app.db, addMs(app.clock.now(), -KEPT_MS)),
    },
    {
      name: 'forget-replays',
      everyMs: 600_000,
      run: () => forgetReplays(app.db, addMs(app.clock.now(), -KEPT_MS)),
    },
  ]
}
