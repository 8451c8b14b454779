// The columns of a payment. Row type, select list, recordset and insert list follow from this table, so a new column is
// written here once. CONTRIBUTING has the steps for a new field.

import type { Currency } from '../core/currency.ts'
import type { FailureCode } from '../core/failures.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import type { PaymentStatus, StatusReason } from './states.ts'

/**
 * The columns that a request sets under the same name. A new field of the request body is added here and to
 * `detailsOf`. In checkout/input.ts it stays undefined when it is absent, so that the fingerprints of earlier requests
 * stay the same.
 */
const DETAILS = {
  country: column<string | null>('text'),
  description: column<string | null>('text'),
  metadata: column<Record<string, unknown>>('jsonb'),
  redirectUrl: column<string | null>('text'),
  isRecurring: column<boolean>('boolean'),
  /** The payment link on which the payer opened this payment. */
  linkId: column<string | null>('uuid'),
  /** The page offers the customer's saved methods. */
  offerSavedMethods: column<boolean>('boolean'),
}

export type PaymentDetails = RowOf<{ columns: typeof DETAILS }>

/** The details out of a request that may have other fields too, or leave some out. */
export function detailsOf(request: Partial<PaymentDetails>): PaymentDetails {
  return {
    country: request.country ?? null,
    description: request.description ?? null,
    metadata: request.metadata ?? {},
    redirectUrl: request.redirectUrl ?? null,
    isRecurring: request.isRecurring ?? false,
    linkId: request.linkId ?? null,
    offerSavedMethods: request.offerSavedMethods ?? false,
  }
}

export const PAYMENT = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  kind: column<'checkout' | 'charge'>('text'),
  reference: column<string>('text'),
  status: column<PaymentStatus>('text'),
  statusReason: column<StatusReason | null>('text'),
  /** Grows by one with every move: a writer that has read another version writes nothing. */
  version: column<number>('integer'),
  amountMinor: column<bigint>('bigint'),
  currency: column<Currency>('text'),
  amountPaidMinor: column<bigint | null>('bigint'),
  /** What arrived of another amount than was asked for. */
  amountReceivedMinor: column<bigint | null>('bigint'),
  feeMinor: column<bigint | null>('bigint'),
  refundedMinor: column<bigint>('bigint'),
  gateway: column<string>('text'),
  /** Of the latest attempt, or of the paid one; null before the first attempt. */
  channel: column<string | null>('text'),
  ...DETAILS,
  customerId: column<string>('uuid'),
  customerEmail: column<string>('text'),
  customerFirstname: column<string>('text'),
  customerLastname: column<string>('text'),
  /** E.164. */
  customerPhone: column<string | null>('text'),
  accessSealed: column<string | null>('text'),
  attemptsUsed: column<number>('integer'),
  /** How many attempts were failovers from a gateway that provably never started the payment. */
  failovers: column<number>('integer'),
  paymentMethodId: column<string | null>('uuid'),
  recoveryPaymentId: column<string | null>('uuid'),
  failureCode: column<FailureCode | null>('text'),
  failureMessage: column<string | null>('text'),
  expiresAt: column<Date | null>('timestamptz'),
  /** When the background looks at this open checkout again. */
  dueAt: column<Date | null>('timestamptz'),
  paidAt: column<Date | null>('timestamptz'),
  createdAt: column<Date>('timestamptz'),
})

/** The columns that the insert of a payment sets. The others have a default in the database: nothing has happened yet. */
export const NEW_PAYMENT = PAYMENT.except(
  'amountPaidMinor',
  'amountReceivedMinor',
  'feeMinor',
  'refundedMinor',
  'failovers',
  'recoveryPaymentId',
  'failureCode',
  'failureMessage',
  'paidAt',
)

export type PaymentRow = RowOf<typeof PAYMENT>

export const PAYMENT_COLUMNS = PAYMENT.select('p')

export interface LockedPayment extends PaymentRow {
  /** The total of pending refunds. */
  refundReservedMinor: bigint
}
