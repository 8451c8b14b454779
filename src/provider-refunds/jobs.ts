import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { lookForRefunds } from './look.ts'
import { claimRefundLookups } from './lookup.ts'

// Most tasks wait for a gateway.
const CONCURRENCY = 20

export function providerRefundJobs(app: PaymentsApp): Job[] {
  return [
    {
      name: 'look-up-refunds',
      intervalMs: 1_000,
      concurrency: CONCURRENCY,
      claim: (limit) => claimRefundLookups(app, limit),
    },
    { name: 'look-for-provider-refunds', intervalMs: 2_000, run: () => lookForRefunds(app) },
  ]
}
