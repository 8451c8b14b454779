// Compares refunds at the provider with our records.

import type { Tx } from '../kit/db/db.ts'
import { findGatewayRefunds } from '../refunds/find.ts'
import type { FoundRefund } from './book.ts'

export interface UnbookedRefunds {
  /** Not in our records, neither as ours nor as found before. */
  unknown: FoundRefund[]
  /** Succeeded or pending at the provider, although they failed here: a person may have marked one as failed too early. */
  failedHere: FoundRefund[]
}

/** The refunds of the list that our records do not have. */
export async function withoutBooked(
  tx: Tx,
  {
    gateway,
    accountId,
    merchantId,
  }: { gateway: string; accountId: string | null; merchantId: string | null },
  refunds: readonly FoundRefund[],
): Promise<UnbookedRefunds> {
  if (refunds.length === 0) return { unknown: [], failedHere: [] }
  const account = { gateway, merchantId: accountId === null ? null : merchantId }
  const keys = refunds.flatMap(({ key }) => key ?? [])
  const references = refunds.map(({ reference }) => reference)
  const records = await findGatewayRefunds(tx, account, keys, references)
  const isIn = (rows: typeof records) => {
    const names = new Set(rows.flatMap(({ key, reference }) => [key, reference]))
    return ({ key, reference }: FoundRefund) => names.has(reference) || (key !== null && names.has(key))
  }
  const hasFailed = isIn(records.filter(({ status }) => status === 'failed'))
  const isBooked = isIn(records.filter(({ status }) => status !== 'failed'))
  const unbooked = refunds.filter((found) => !isBooked(found))
  const mayHaveMoved = ({ status }: FoundRefund) => status === 'succeeded' || status === 'pending'
  return {
    unknown: unbooked.filter((found) => !hasFailed(found)),
    failedHere: unbooked.filter((found) => hasFailed(found) && mayHaveMoved(found)),
  }
}
