import { addMs } from '../kit/clock.ts'
import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from './app.ts'
import { expireDueCheckouts } from './expire.ts'
import { forgetIdempotencyKeys } from './queries.ts'
import { resolveDueAttempts } from './resolve.ts'

// Promised are 24 hours; a week covers a merchant's queue that stood still over a long weekend.
const KEYS_KEPT_MS = 7 * 24 * 3_600_000

export function paymentJobs(app: PaymentsApp): Job[] {
  return [
    { name: 'resolve-attempts', everyMs: 500, run: () => resolveDueAttempts(app) },
    { name: 'expire-checkouts', everyMs: 1_000, run: () => expireDueCheckouts(app) },
    {
      name: 'forget-idempotency-keys',
      everyMs: 600_000,
      run: () => forgetIdempotencyKeys(app.db, addMs(app.clock.now(), -KEYS_KEPT_MS)),
    },
  ]
}
