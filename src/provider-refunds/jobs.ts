import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { addSharedAccounts, lookForRefunds } from './look.ts'
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
    {
      name: 'add-refund-lookups',
      intervalMs: 600_000,
      run: async () => {
        await addSharedAccounts(app)
        return 0
      },
    },
    { name: 'look-for-provider-refunds', intervalMs: 2_000, run: () => lookForRefunds(app) },
  ]
}
