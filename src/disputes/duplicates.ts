// Duplicate payments: attempts that succeeded after their payment was paid. Their amount is refunded to the payer.

import { isCurrency } from '../core/currency.ts'
import type { Tx } from '../kit/db/db.ts'
import { readHeld, recordEntry } from '../ledger/debit.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
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

/** The account that holds the money of an attempt which was not credited to the merchant. */
export function holdingAccount({ status }: AttemptRow): 'duplicates' | 'unmatched' {
  return status === 'duplicate_success' ? 'duplicates' : 'unmatched'
}

/** What the ledger still holds of the attempt for its payer. Nothing with direct settlement: we never had the money. */
export async function heldMinorOf(tx: Tx, attempt: AttemptRow): Promise<bigint> {
  return readHeld(tx, attempt.merchantId, attempt.id, holdingAccount(attempt))
}

/** Records that held money was returned without a refund of ours, or was written off. */
export async function releaseHeldMoney(
  app: Pick<PaymentsApp, 'clock' | 'random'>,
  tx: Tx,
  attempt: AttemptRow,
  { kind, to }: { kind: 'reversal' | 'write_off'; to: string },
): Promise<void> {
  const { merchantId, paymentId, id: attemptId, paidCurrency: currency } = attempt
  const heldMinor = await heldMinorOf(tx, attempt)
  if (heldMinor === 0n || !isCurrency(currency)) return
  await recordEntry(app, tx, {
    merchantId,
    kind,
    paymentId,
    attemptId,
    refundId: null,
    currency,
    at: app.clock.now(),
    lines: [
      [holdingAccount(attempt), -heldMinor],
      [to, heldMinor],
    ],
  })
}

/** The payer has a duplicate payment back without a refund of ours. */
export function recordDuplicateReversal(
  app: Pick<PaymentsApp, 'clock' | 'random'>,
  tx: Tx,
  attempt: AttemptRow,
): Promise<void> {
  const returned = { kind: 'reversal', to: `gateway:${attempt.gateway}` } as const
  return releaseHeldMoney(app, tx, attempt, returned)
}
