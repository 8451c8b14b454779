import type { Job } from '../kit/jobs.ts'
import type { CustomersApp } from './app.ts'
import { expireMethods } from './methods.ts'

export function customerJobs(app: CustomersApp): Job[] {
  // Cards expire at the end of a month, and charges check the date themselves, so a minute of delay is harmless.
  return [{ name: 'expire-payment-methods', intervalMs: 60_000, run: () => expireMethods(app) }]
}
