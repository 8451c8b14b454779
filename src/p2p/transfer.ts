// A transfer: the money that a payer sends to a receiving account of the merchant. A payment has at most one.

import type { Currency } from '../core/currency.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { type AccountChannel, DESTINATION_COLUMNS } from '../p2p-accounts/account.ts'
import { P2P } from './app.ts'
import type { TransferStatus } from './states.ts'

export const TRANSFER = columnTable({
  merchantId: column<string>('uuid'),
  /** Of the payment. */
  id: column<string>('uuid', 'payment_id'),
  attemptKey: column<string>('text'),
  channel: column<AccountChannel>('text'),
  accountId: column<string | null>('uuid'),
  ...DESTINATION_COLUMNS,
  narration: column<string>('text'),
  status: column<TransferStatus>('text'),
  version: column<number>('integer'),
  currency: column<Currency>('text'),
  expectedMinor: column<bigint>('bigint'),
  /** The total received so far. */
  receivedMinor: column<bigint | null>('bigint'),
  rejectionReason: column<string | null>('text'),
  expiresAt: column<Date>('timestamptz'),
  dueAt: column<Date | null>('timestamptz'),
  createdAt: column<Date>('timestamptz'),
  updatedAt: column<Date>('timestamptz'),
})

export type TransferRow = RowOf<typeof TRANSFER>

/** The difference between the expected and the received amount; at least one of the two is zero. */
export interface Difference {
  /** The amount that the payer still has to send. */
  missingMinor: bigint
  /** The amount that the merchant owes to the payer. */
  excessMinor: bigint
}

/** `paidBy` is the gateway that collected the payment, or null. If it is another gateway, nothing is expected here. */
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
