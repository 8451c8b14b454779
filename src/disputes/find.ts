// Reads of disputes and cases, for the slices above.

import { COUNT_CAP } from '../core/page.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import { countOpenCasesStatement } from './case-queries.ts'
import type { DisputeRow } from './dispute.ts'
import { selectDisputes } from './dispute-queries.ts'

/** The disputes of a payment, oldest first. */
export async function listDisputes(db: Tx, merchantId: string, paymentId: string): Promise<DisputeRow[]> {
  return db.query(selectDisputes, [merchantId, paymentId])
}

/** The number of open cases, up to COUNT_CAP. */
export async function countOpenCases(db: Db): Promise<number> {
  const [counted] = await db.query(countOpenCasesStatement)
  return Math.min(counted?.total ?? 0, COUNT_CAP)
}
