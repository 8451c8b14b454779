import type { Job } from '../kit/jobs.ts'
import type { InFlight } from '../outcomes/gateway-bulkhead.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { claimRefunds } from './advance.ts'
import { refundDuplicates } from './duplicates.ts'

// Most tasks wait for a gateway, so many may run at once.
const CONCURRENCY = 100

export function refundJobs(app: PaymentsApp): Job[] {
  const inFlight: InFlight = new Map()
  return [
    {
      name: 'resolve-refunds',
      intervalMs: 1_000,
      concurrency: CONCURRENCY,
      claim: (limit) => claimRefunds(app, limit, inFlight),
    },
    { name: 'refund-duplicates', intervalMs: 2_000, run: () => refundDuplicates(app) },
  ]
}
