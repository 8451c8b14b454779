import { forgetPromptWindows } from '../checkout/prompt-queries.ts'
import { forgetWebhooks, retryWebhooks } from '../gateway-webhooks/receive.ts'
import { addMs } from '../kit/clock.ts'
import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { forgetIdempotencyKeys } from '../payments/queries.ts'
import { claimExpiries } from './expire.ts'
import { claimResolutions } from './resolve.ts'

// Most of them wait for a gateway; those that wait long leave room for the others.
const CONCURRENCY = 100

const DAY_MS = 24 * 3_600_000

// Promised are 24 hours; a week covers a merchant's queue that stood still over a long weekend.
const KEYS_KEPT_DAYS = 7

export function paymentJobs(app: PaymentsApp, keysKeptDays = KEYS_KEPT_DAYS): Job[] {
  const questions = new Map<string, number>()
  return [
    {
      name: 'resolve-attempts',
      everyMs: 500,
      concurrency: CONCURRENCY,
      claim: (limit) => claimResolutions(app, limit, questions),
    },
    {
      name: 'expire-checkouts',
      everyMs: 1_000,
      concurrency: CONCURRENCY,
      claim: (limit) => claimExpiries(app, limit),
    },
    {
      name: 'retry-webhooks',
      everyMs: 15_000,
      run: () => retryWebhooks(app),
    },
    {
      name: 'forget-webhooks',
      everyMs: 600_000,
      run: () => forgetWebhooks(app),
    },
    {
      name: 'forget-idempotency-keys',
      everyMs: 600_000,
      run: () => forgetIdempotencyKeys(app.db, addMs(app.clock.now(), -keysKeptDays * DAY_MS)),
    },
    {
      name: 'forget-prompt-windows',
      everyMs: 600_000,
      run: () => forgetPromptWindows(app.db, app.clock.now()),
    },
  ]
}
