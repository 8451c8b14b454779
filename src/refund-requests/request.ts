// A request for a refund that waits for the approval of a second person.

import type { Currency } from '../core/currency.ts'
import { formatAmount, money } from '../core/money.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const REQUEST_STATUSES = ['awaiting_approval', 'approved', 'rejected', 'withdrawn'] as const
export type RequestStatus = (typeof REQUEST_STATUSES)[number]

export const REQUEST = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  paymentId: column<string>('uuid'),
  paymentReference: column<string>('text'),
  amountMinor: column<bigint>('bigint'),
  currency: column<Currency>('text'),
  reason: column<string | null>('text'),
  status: column<RequestStatus>('text'),
  /** A user. */
  requestedBy: column<string>('uuid'),
  createdAt: column<Date>('timestamptz'),
  decidedBy: column<string | null>('uuid'),
  decidedAt: column<Date | null>('timestamptz'),
  decisionNote: column<string | null>('text'),
  /** The refund that the approval has made. */
  refundId: column<string | null>('uuid'),
})

export type RequestRow = RowOf<typeof REQUEST>

export type RefundRequest = ReturnType<typeof toRequest>

export function toRequest(row: RequestRow) {
  const { id, paymentId, amountMinor, currency, createdAt, decidedAt, refundId } = row
  const { status, paymentReference, reason, requestedBy, decidedBy, decisionNote } = row
  return {
    ...{ uuid: id, status, paymentUuid: paymentId, paymentReference },
    ...{ amount: formatAmount(money(amountMinor, currency)), currency, reason },
    ...{ requestedBy, createdAt: createdAt.toISOString(), decidedBy, decisionNote, refundUuid: refundId },
    decidedAt: decidedAt?.toISOString() ?? null,
  }
}
