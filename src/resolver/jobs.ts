import type { Job } from '../kit/jobs.ts'
import type { InFlight } from '../outcomes/gateway-bulkhead.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { claimExpiries } from './expire.ts'
import { claimResolutions } from './resolve.ts'

// Most tasks wait for a gateway, so many may run at once.
const CONCURRENCY = 100

export function resolverJobs(app: PaymentsApp): Job[] {
  const inFlight: InFlight = new Map()
  return [
    {
      name: 'resolve-attempts',
      intervalMs: 500,
      concurrency: CONCURRENCY,
      claim: (limit) => claimResolutions(app, limit, inFlight),
    },
    {
      name: 'expire-checkouts',
      intervalMs: 1_000,
      concurrency: CONCURRENCY,
      claim: (limit) => claimExpiries(app, limit),
    },
  ]
}
