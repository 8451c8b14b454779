import { P2P } from './app.ts'
import type { TransferRow } from './transfer-queries.ts'

/** How far what arrived is from what was to arrive; at most one of the two is more than nothing. */
export interface Difference {
  /** What the payer has still to send. */
  missingMinor: bigint
  /** What the merchant owes to the payer. */
  excessMinor: bigint
}

/** `paidBy` is the gateway that the payment was paid by, or null. Once that is another one, nothing is to arrive here. */
export function differenceOf(
  { expectedMinor, receivedMinor }: Pick<TransferRow, 'expectedMinor' | 'receivedMinor'>,
  paidBy: string | null,
): Difference {
  const dueMinor = paidBy === null || paidBy === P2P ? expectedMinor : 0n
  const restMinor = dueMinor - (receivedMinor ?? 0n)
  return restMinor >= 0n
    ? { missingMinor: restMinor, excessMinor: 0n }
    : { missingMinor: 0n, excessMinor: -restMinor }
}
