import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db.ts'
import type { Job } from '../kit/jobs.ts'
import type { Random } from '../kit/random.ts'
import { foldBalances, settleDueMoney } from './service.ts'

export function ledgerJobs(app: { db: Db; clock: Clock; random: Random; mode: Mode }): Job[] {
  return [
    { name: 'settle-money', everyMs: 5_000, run: () => settleDueMoney(app) },
    { name: 'fold-balances', everyMs: 1_000, run: () => foldBalances(app) },
  ]
}
