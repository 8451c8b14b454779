import type { Currency } from '../core/currency.ts'
import type { DisputeReport } from '../gateways/gateway.ts'

export interface DisputeRow {
  merchantId: string
  id: string
  paymentId: string
  attemptId: string
  /** The gateway's own name of it, by which it is known again. */
  gatewayReference: string
  status: 'open' | 'won' | 'lost'
  /** What the gateway says that it is about. */
  claimedMinor: bigint
  /** What of that it holds, or has taken in the end: never more than refunds leave. */
  amountMinor: bigint
  currency: Currency
  openedAt: Date
  closedAt: Date | null
}

/** The gateway takes money back, or gives back what it took. */
export interface DisputeDecision {
  kind: 'dispute'
  /** Where the payment moves; null when it stays, and the dispute is only noted. */
  to: 'disputed' | 'successful' | 'reversed' | null
  report: DisputeReport
  /** The same dispute as it is known, while it holds money. */
  open: DisputeRow | null
}
