// The columns of a refund. The row type, the select list and the insert list follow from this table.

import type { Currency } from '../core/currency.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import type { RefundReason, RefundStatus } from './states.ts'

export const REFUND = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  paymentId: column<string>('uuid'),
  paymentReference: column<string>('text'),
  attemptId: column<string>('uuid'),
  attemptKey: column<string>('text'),
  attemptReference: column<string>('text'),
  gateway: column<string>('text'),
  /** The merchant's own account at the gateway; null is the account of the instance. */
  accountId: column<string | null>('uuid'),
  status: column<RefundStatus>('text'),
  statusReason: column<RefundReason | null>('text'),
  version: column<number>('integer'),
  amountMinor: column<bigint>('bigint'),
  currency: column<Currency>('text'),
  /** The refund returns the whole payment. */
  isFull: column<boolean>('boolean'),
  /** The refund returns a duplicate payment. */
  isDuplicate: column<boolean>('boolean'),
  /** The merchant's own reference of the refund. */
  refundReference: column<string | null>('text'),
  /** Why the merchant refunds, as the merchant wrote it. */
  reason: column<string | null>('text'),
  metadata: column<Record<string, unknown>>('jsonb'),
  /** `provider`: made in the provider's dashboard or by its support, and found there. */
  source: column<'api' | 'provider'>('text'),
  /** The idempotency key of the refund at the gateway. */
  gatewayKey: column<string>('text'),
  gatewayReference: column<string | null>('text'),
  /** What the provider said in a callback to the secret path of this refund, as JSON of the connector. */
  report: column<string | null>('text'),
  failureMessage: column<string | null>('text'),
  /** Set before the first call: from then on the gateway may know the refund. */
  submittedAt: column<Date | null>('timestamptz'),
  /** When the resolver works on the refund next; during a lease, the end of the lease. */
  dueAt: column<Date | null>('timestamptz'),
  /** How often the resolver has claimed the refund since it was marked due; the backoff grows with it. */
  polls: column<number>('integer'),
  /** Counts the claims: a process whose lease was taken over cannot write any more. */
  fence: column<number>('integer'),
  createdAt: column<Date>('timestamptz'),
  updatedAt: column<Date>('timestamptz'),
})

export type RefundRow = RowOf<typeof REFUND>

/** A webhook about a paid attempt: the key is the attempt's. */
export interface RefundWake {
  gateway: string
  accountId: string | null
  key: string
}

/** A refund as reconciliation compares it with a line of a settlement file. */
export interface GatewayRefundRow {
  merchantId: string
  paymentId: string
  refundId: string
  /** Our key at the gateway. */
  key: string
  /** The gateway's own id of the refund. */
  reference: string | null
  status: RefundStatus
  amountMinor: bigint
  currency: Currency
}
