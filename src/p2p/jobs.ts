import type { Job } from '../kit/jobs.ts'

import type { PaymentsApp } from '../payments/app.ts'
import { expireTransfers } from './transfers.ts'

export function p2pJobs(app: PaymentsApp): Job[] {
  return [{ name: 'expire-transfers', intervalMs: 2_000, run: () => expireTransfers(app) }]
}
