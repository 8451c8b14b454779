// Duplicate payments: attempts that succeeded after their payment was paid. Their amount is refunded to the payer.

import type { Tx } from '../kit/db/db.ts'
import type { DuplicateRow } from './duplicate.ts'
import {
  claimDueDuplicatesStatement,
  lockAttemptStatement,
  scheduleDuplicateRefundStatement,
  unscheduleDuplicateRefundStatement,
  updateDuplicateRefundTotalStatement,
} from './duplicate-queries.ts'

/** Claims duplicates that have no refund yet. The lease ends at `leaseUntil`, so a crashed process does not keep them. */
export async function claimDueDuplicates(
  db: Tx,
  now: Date,
  leaseUntil: Date,
  limit: number,
): Promise<DuplicateRow[]> {
  return db.query(claimDueDuplicatesStatement, [now, leaseUntil, limit])
}

/** True when a refund was scheduled; the caller's transaction then decides what replaces it. */
export async function unscheduleDuplicateRefund(
  tx: Tx,
  merchantId: string,
  attemptId: string,
): Promise<boolean> {
  return (await tx.query(unscheduleDuplicateRefundStatement, [merchantId, attemptId])).length > 0
}

export async function scheduleDuplicateRefund(
  tx: Tx,
  merchantId: string,
  attemptId: string,
  at: Date,
): Promise<void> {
  await tx.query(scheduleDuplicateRefundStatement, [merchantId, attemptId, at])
}

/** Locks the attempt's row until the end of the transaction, so that one process at a time decides about it. */
export async function lockAttempt(tx: Tx, merchantId: string, attemptId: string): Promise<void> {
  await tx.query(lockAttemptStatement, [merchantId, attemptId])
}

export async function updateDuplicateRefundTotal(
  tx: Tx,
  merchantId: string,
  attemptId: string,
  amountMinor: bigint,
): Promise<void> {
  await tx.query(updateDuplicateRefundTotalStatement, [merchantId, attemptId, amountMinor])
}
