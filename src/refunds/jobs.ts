import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { claimRefunds } from './advance.ts'
import { refundDuplicates } from './duplicates.ts'

// A bulkhead: refunds mostly wait for gateways, and a slow gateway must not block the others.
const CONCURRENCY = 25

export function refundJobs(app: PaymentsApp): Job[] {
  return [
    {
      name: 'resolve-refunds',
      intervalMs: 1_000,
      concurrency: CONCURRENCY,
      claim: (limit) => claimRefunds(app, limit),
    },
    { name: 'refund-duplicates', intervalMs: 2_000, run: () => refundDuplicates(app) },
  ]
}
