import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { purgePromptWindows } from './phone-prompt-queries.ts'

export function checkoutJobs(app: PaymentsApp): Job[] {
  return [
    {
      name: 'purge-prompt-windows',
      intervalMs: 600_000,
      run: () => purgePromptWindows(app.instanceDb, app.clock.now()),
    },
  ]
}
