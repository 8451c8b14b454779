import type { Job } from '../kit/jobs.ts'
import type { LinksApp } from './app.ts'
import { countOnePayment, expireOneLink } from './link-events.ts'
import { releaseIdleSlots } from './slots.ts'

export function linkJobs(app: LinksApp): Job[] {
  return [
    { name: 'count-link-payments', intervalMs: 500, run: () => countOnePayment(app) },
    { name: 'expire-links', intervalMs: 1_000, run: () => expireOneLink(app) },
    { name: 'release-idle-link-slots', intervalMs: 15_000, run: () => releaseIdleSlots(app) },
  ]
}
