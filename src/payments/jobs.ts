import { addMs } from '../kit/clock.ts'
import { purgeIdempotencyKeys } from '../kit/db/idempotency.ts'
import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from './app.ts'

const DAY_MS = 24 * 3_600_000

export function paymentJobs(app: PaymentsApp, keyRetentionDays: number): Job[] {
  return [
    {
      name: 'purge-idempotency-keys',
      intervalMs: 600_000,
      run: () => purgeIdempotencyKeys(app.db, addMs(app.clock.now(), -keyRetentionDays * DAY_MS)),
    },
  ]
}
