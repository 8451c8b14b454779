import type { Job } from '../kit/jobs.ts'
import type { CustomersApp } from './app.ts'
import { expireMethods } from './methods.ts'

export function customerJobs(app: CustomersApp): Job[] {
  // Cards end with a month, so nobody is in a hurry; what is charged meanwhile is refused by the calendar.
  return [{ name: 'expire-payment-methods', intervalMs: 60_000, run: () => expireMethods(app) }]
}
