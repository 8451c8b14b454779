// Reads of disputes, for the slices above.

import type { Tx } from '../kit/db/db.ts'
import type { DisputeRow } from './dispute.ts'
import { selectDisputes } from './dispute-queries.ts'

/** The disputes of a payment, oldest first. */
export async function listDisputes(db: Tx, merchantId: string, paymentId: string): Promise<DisputeRow[]> {
  return db.query(selectDisputes, [merchantId, paymentId])
}
