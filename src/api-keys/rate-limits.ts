// Rate limits over all processes: each process takes tokens from local copies of the buckets and syncs them here.

import type { Db } from '../kit/db/db.ts'
import { spendTokens, type TokenSpend } from './rate-limit-queries.ts'

/** Takes the spent tokens from the shared buckets, and returns how many each bucket has left. */
export function syncRateLimits(
  db: Db,
  at: Date,
  spends: readonly TokenSpend[],
): Promise<{ owner: string; tokens: number }[]> {
  return spendTokens(db, at, spends)
}
