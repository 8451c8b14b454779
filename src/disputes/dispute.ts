import type { Currency } from '../core/currency.ts'
import type { DisputeReport } from '../gateways/gateway.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const DISPUTE = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  paymentId: column<string>('uuid'),
  attemptId: column<string>('uuid'),
  /** The gateway's dispute id, by which later reports are matched. */
  gatewayReference: column<string>('text'),
  status: column<'open' | 'won' | 'lost'>('text'),
  /** The amount that the gateway reports. */
  claimedMinor: column<bigint>('bigint'),
  /** The amount that is held, or lost at the end: at most what refunds have left. */
  amountMinor: column<bigint>('bigint'),
  currency: column<Currency>('text'),
  /** Until when the gateway accepts a response; null if it does not say, or waits for none. */
  respondBy: column<Date | null>('timestamptz'),
  openedAt: column<Date>('timestamptz'),
  closedAt: column<Date | null>('timestamptz'),
})

/** A chargeback: the payer's bank claims the money of a payment back. */
export type DisputeRow = RowOf<typeof DISPUTE>

/** A dispute report that changes something. */
export interface DisputeDecision {
  kind: 'dispute'
  /** The payment's next status; null when only the dispute is recorded. */
  to: 'disputed' | 'successful' | 'reversed' | null
  report: DisputeReport
  /** The recorded dispute while it is open. */
  open: DisputeRow | null
}
