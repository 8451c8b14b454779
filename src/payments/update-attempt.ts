// Changes of an attempt without a move of its payment.

import type { Tx } from '../kit/db/db.ts'
import { closeAttemptStatement, type PostingInput } from './move-queries.ts'
import { extendSentCheckout, makeAttemptDue } from './queries.ts'
import type { StatusReason } from './states.ts'

/** How an attempt ends whose payment already has the right status. */
export interface ClosedAttempt {
  merchantId: string
  attemptId: string
  status: 'declined' | 'amount_mismatch' | 'duplicate_success' | 'requires_review'
  failureCode: string | null
  failureMessage: string | null
  paidMinor: bigint | null
  paidCurrency: string | null
  gatewayReference: string | null
  receiptNumber?: string | null
  /** The due time that the caller read. An earlier time in the row means that a webhook has made the attempt due since. */
  dueAt: Date | null
  /** When the next poll is due; null for none. */
  nextPollAt: Date | null
  statusReason: StatusReason | null
  entryId: string | null
  postings: PostingInput[]
  at: Date
}

/** False when the attempt has already ended. */
export async function closeAttempt(db: Tx, closing: ClosedAttempt): Promise<boolean> {
  const rows = await db.query(closeAttemptStatement, [
    closing.merchantId,
    closing.attemptId,
    closing.status,
    closing.failureCode,
    closing.failureMessage,
    closing.paidMinor,
    closing.paidCurrency,
    closing.gatewayReference,
    closing.statusReason,
    closing.entryId,
    JSON.stringify(closing.postings),
    closing.at,
    closing.dueAt,
    closing.nextPollAt,
    closing.receiptNumber ?? null,
  ])
  return rows.length > 0
}

/** Makes an attempt due for its next poll, in the caller's transaction. */
export async function wakeAttempt(tx: Tx, merchantId: string, gatewayKey: string, at: Date): Promise<void> {
  await tx.query(makeAttemptDue, [merchantId, gatewayKey, at])
}

export interface CheckoutExtension {
  merchantId: string
  paymentId: string
  /** Of the attempt that the payer says to have paid. */
  gatewayKey: string
  reason: StatusReason
  at: Date
  until: Date
  /** For a payment of a link, where other payers may be waiting for the slot. */
  untilAtLink: Date
}

/**
 * Records that the payer has sent the money of an attempt, and extends the checkout so that the money can be found. A
 * checkout that has ended, or that has another attempt in progress, stays as it is.
 */
export async function keepCheckoutOpen(tx: Tx, extension: CheckoutExtension): Promise<void> {
  const { merchantId, paymentId, gatewayKey, reason, at, until, untilAtLink } = extension
  await tx.query(extendSentCheckout, [merchantId, paymentId, gatewayKey, reason, at, until, untilAtLink])
}
