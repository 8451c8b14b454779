import type { Job } from '../kit/jobs.ts'
import type { LinksApp } from './app.ts'
import { dropAbandonedPlaces } from './places.ts'
import { countOnePayment, expireOneLink } from './tally.ts'

export function linkJobs(app: LinksApp): Job[] {
  return [
    { name: 'count-link-payments', everyMs: 500, run: () => countOnePayment(app) },
    { name: 'expire-links', everyMs: 1_000, run: () => expireOneLink(app) },
    { name: 'drop-link-places', everyMs: 15_000, run: () => dropAbandonedPlaces(app) },
  ]
}
