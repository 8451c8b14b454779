import type { Job } from '../kit/jobs.ts'
import type { WebhookEndpointsApp } from './app.ts'
import { clearPreviousSecrets } from './queries.ts'

export function webhookEndpointJobs(app: WebhookEndpointsApp): Job[] {
  return [
    {
      name: 'clear-previous-secrets',
      intervalMs: 60_000,
      run: () => clearPreviousSecrets(app.db, app.clock.now()),
    },
  ]
}
