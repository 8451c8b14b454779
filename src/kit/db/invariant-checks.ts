// Counts the invariants at an interval, so that a violation shows in the metrics before an operator asks. One row holds
// the time and the result, for all processes.

import { addMs, type Clock } from '../clock.ts'
import type { Job } from '../jobs.ts'
import { type Db, sql } from './db.ts'
import { checkInvariants, type InvariantReport } from './invariants.ts'

export interface InvariantCheck {
  report: Record<string, number>
  finishedAt: Date
}

const selectCheck = sql<InvariantCheck>`
select report, finished_at as "finishedAt"
from invariant_checks
where finished_at is not null`

/** The result of the last check of any process; undefined before the first. */
export async function findInvariantCheck(db: Db): Promise<InvariantCheck | undefined> {
  return (await db.query(selectCheck))[0]
}

/** The checks of two cells as one: of the time at which both were checked. */
export function addChecks(
  one: InvariantCheck | undefined,
  other: InvariantCheck | undefined,
): InvariantCheck | undefined {
  if (!one || !other) return one ?? other
  const names = Object.keys({ ...one.report, ...other.report })
  const sumOf = (name: string) => (one.report[name] ?? 0) + (other.report[name] ?? 0)
  return {
    report: Object.fromEntries(names.map((name) => [name, sumOf(name)])),
    finishedAt: one.finishedAt < other.finishedAt ? one.finishedAt : other.finishedAt,
  }
}

/** Adds up what was found in several databases. */
export function addReports(reports: readonly InvariantReport[][]): InvariantReport[] {
  const byName = Map.groupBy(reports.flat(), ({ name }) => name)
  return [...byName].map(([name, found]) => ({
    name,
    violations: found.reduce((sum, { violations }) => sum + violations, 0),
  }))
}

// The process that updates the time makes the check. A time in the future was written by a wrong clock.
const claimCheck = sql<unknown>`
update invariant_checks
set started_at = $1::timestamptz
where started_at <= $2 or started_at > $1::timestamptz + interval '1 minute'
returning started_at`

const finishCheck = sql<unknown>`
update invariant_checks
set report = $1::jsonb, finished_at = $2`

const POLL_INTERVAL_MS = 60_000

/** A check reads the whole ledger, so it runs rarely; 0 means never. */
export function invariantJobs(app: { db: Db; clock: Clock }, intervalMs: number): Job[] {
  if (intervalMs === 0) return []
  return [
    { name: 'check-invariants', intervalMs: POLL_INTERVAL_MS, run: () => checkWhenDue(app, intervalMs) },
  ]
}

/** Returns 0 also after a check: the next one is not due for a long time. */
export async function checkWhenDue(app: { db: Db; clock: Clock }, intervalMs: number): Promise<number> {
  const now = app.clock.now()
  const claimed = await app.db.query(claimCheck, [now, addMs(now, -intervalMs)])
  if (claimed.length > 0) await checkNow(app)
  return 0
}

/** Checks every invariant, and keeps the result as that of the last check. */
export async function checkNow({ db, clock }: { db: Db; clock: Clock }): Promise<InvariantReport[]> {
  const reports = await checkInvariants(db)
  const report = Object.fromEntries(reports.map(({ name, violations }) => [name, violations]))
  await db.query(finishCheck, [JSON.stringify(report), clock.now()])
  return reports
}
