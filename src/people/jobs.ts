import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import type { Job } from '../kit/jobs.ts'
import { purgeLimits } from './limit-queries.ts'
import { LIMIT_WINDOW_MS } from './limits.ts'
import { purgeEnded } from './user-queries.ts'

const DAY_MS = 24 * 3_600_000

/** How long rows are kept after their end: people see recent ones, and the audit log has all of them. */
const KEPT_MS = {
  sessions: 7 * DAY_MS,
  pendingSignIns: 0,
  challenges: 0,
  links: DAY_MS,
  submissions: 0,
  invitations: 30 * DAY_MS,
  // Since the last sign-in.
  devices: 180 * DAY_MS,
} as const

export function peopleJobs({ peopleDb: db, clock }: { peopleDb: Db; clock: Clock }): Job[] {
  return [
    {
      name: 'purge-people',
      intervalMs: 600_000,
      run: async () => {
        const before = (ms: number) => addMs(clock.now(), -ms)
        let purged = await purgeLimits(db, before(LIMIT_WINDOW_MS))
        for (const what of [
          'sessions',
          'pendingSignIns',
          'challenges',
          'links',
          'submissions',
          'invitations',
          'devices',
        ] as const)
          purged += await purgeEnded(db, what, before(KEPT_MS[what]))
        return purged
      },
    },
  ]
}
