import type { Currency } from '../core/currency.ts'
import type { DisputeReport } from '../gateways/gateway.ts'

/** A chargeback: the payer's bank claims the money of a payment back. */
export interface DisputeRow {
  merchantId: string
  id: string
  paymentId: string
  attemptId: string
  /** The gateway's dispute id, by which later reports are matched. */
  gatewayReference: string
  status: 'open' | 'won' | 'lost'
  /** The amount that the gateway reports. */
  claimedMinor: bigint
  /** The amount that is held, or lost at the end: at most what refunds have left. */
  amountMinor: bigint
  currency: Currency
  openedAt: Date
  closedAt: Date | null
}

/** A dispute report that changes something. */
export interface DisputeDecision {
  kind: 'dispute'
  /** The payment's next status; null when only the dispute is recorded. */
  to: 'disputed' | 'successful' | 'reversed' | null
  report: DisputeReport
  /** The recorded dispute while it is open. */
  open: DisputeRow | null
}
