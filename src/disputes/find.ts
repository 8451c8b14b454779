// Reads of disputes, for the slices above.

import type { Tx } from '../kit/db/db.ts'
import type { DisputeRow } from './dispute.ts'
import { readRemainingMinor, selectDisputes } from './dispute-queries.ts'

/** The disputes of a payment, oldest first. */
export async function listDisputes(db: Tx, merchantId: string, paymentId: string): Promise<DisputeRow[]> {
  return db.query(selectDisputes, [merchantId, paymentId])
}

/** The paid amount minus refunds, reserved refunds and lost disputes. The caller has locked the payment. */
export function readUnclaimedMinor(tx: Tx, merchantId: string, paymentId: string): Promise<bigint> {
  return readRemainingMinor(tx, merchantId, paymentId)
}
