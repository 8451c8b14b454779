// Counts the invariants by itself now and then, so that a drift of the books shows before anybody asks. One row says when
// and with what result, for all processes.

import { addMs, type Clock } from '../clock.ts'
import type { Job } from '../jobs.ts'
import { type Db, sql } from './db.ts'
import { checkInvariants } from './invariants.ts'

export interface InvariantCheck {
  report: Record<string, number>
  finishedAt: Date
}

const selectCheck = sql<InvariantCheck>`
select report, finished_at as "finishedAt"
from invariant_checks
where finished_at is not null`

/** What the last check found, whoever made it; undefined before the first. */
export async function findInvariantCheck(db: Db): Promise<InvariantCheck | undefined> {
  return (await db.query(selectCheck))[0]
}

// Whoever moves the time makes the check. A time that is still to come was told by a clock that was wrong.
const claimCheck = sql<unknown>`
update invariant_checks
set started_at = $1::timestamptz
where started_at <= $2 or started_at > $1::timestamptz + interval '1 minute'
returning started_at`

const finishCheck = sql<unknown>`
update invariant_checks
set report = $1::jsonb, finished_at = $2`

const POLL_INTERVAL_MS = 60_000

/** A check reads all books, so it is made rarely; 0 is never. */
export function invariantJobs(app: { db: Db; clock: Clock }, intervalMs: number): Job[] {
  if (intervalMs === 0) return []
  return [
    { name: 'check-invariants', intervalMs: POLL_INTERVAL_MS, run: () => checkWhenDue(app, intervalMs) },
  ]
}

/** Answers 0 also when it has checked: it is not due again for long. */
export async function checkWhenDue(app: { db: Db; clock: Clock }, intervalMs: number): Promise<number> {
  const now = app.clock.now()
  const claimed = await app.db.query(claimCheck, [now, addMs(now, -intervalMs)])
  if (claimed.length === 0) return 0
  const reports = await checkInvariants(app.db)
  const report = Object.fromEntries(reports.map(({ name, violations }) => [name, violations]))
  await app.db.query(finishCheck, [JSON.stringify(report), app.clock.now()])
  return 0
}
