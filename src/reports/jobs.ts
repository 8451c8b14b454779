import type { Db } from '../kit/db/db.ts'
import type { Job } from '../kit/jobs.ts'
import { foldCollectionDeltas } from './queries.ts'

// Large enough for thousands of payments a second.
const FOLD_BATCH = 5_000

// Within ten seconds a merchant has several payments, and their differences are one change of each sum. A report reads what
// is not folded yet, so it does not wait for the fold.
const FOLD_EVERY_MS = 10_000

export function reportJobs(app: { db: Db }): Job[] {
  return [{ name: 'fold-collections', intervalMs: FOLD_EVERY_MS, run: () => foldDue(app.db) }]
}

/** Reports more work only after a full batch: folding after every few payments would cost as much as the payments. */
async function foldDue(db: Db): Promise<number> {
  const folded = await foldCollectionDeltas(db, FOLD_BATCH)
  return folded === FOLD_BATCH ? folded : 0
}
