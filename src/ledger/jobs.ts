import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import type { Job } from '../kit/jobs.ts'
import type { Random } from '../kit/random.ts'
import { settleDueMoney } from './service.ts'
import { FOLD_BATCH, foldBalances } from './statement.ts'

export function ledgerJobs(app: { db: Db; clock: Clock; random: Random; mode: Mode }): Job[] {
  return [
    { name: 'settle-money', intervalMs: 5_000, run: () => settleDueMoney(app) },
    { name: 'fold-balances', intervalMs: 1_000, run: () => foldDueDeltas(app) },
  ]
}

/** Reports more work only after a full batch: folding after every few payments would cost as much as the payments. */
async function foldDueDeltas(app: { db: Db }): Promise<number> {
  const folded = await foldBalances(app)
  return folded === FOLD_BATCH ? folded : 0
}
