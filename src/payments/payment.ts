import type { Currency } from '../core/currency.ts'
import type { FailureCode } from '../core/failures.ts'
import type { PaymentStatus } from './states.ts'

export interface PaymentRow {
  merchantId: string
  id: string
  kind: 'checkout' | 'charge'
  reference: string
  status: PaymentStatus
  statusReason: string | null
  version: number
  amountMinor: bigint
  currency: Currency
  amountPaidMinor: bigint | null
  feeMinor: bigint | null
  refundedMinor: bigint
  gateway: string
  country: string | null
  description: string | null
  metadata: Record<string, unknown>
  redirectUrl: string | null
  isRecurring: boolean
  customerId: string
  customerEmail: string
  customerFirstname: string
  customerLastname: string
  accessSealed: string | null
  attemptsUsed: number
  /** How many of the attempts took over at once from one that provably began nothing. */
  failovers: number
  paymentMethodId: string | null
  recoveryPaymentId: string | null
  /** The payment link at which it was begun. */
  linkId: string | null
  failureCode: FailureCode | null
  failureMessage: string | null
  expiresAt: Date | null
  dueAt: Date | null
  paidAt: Date | null
  createdAt: Date
}

export const PAYMENT_COLUMNS = `
  p.merchant_id as "merchantId", p.id, p.kind, p.reference, p.status, p.status_reason as "statusReason", p.version,
  p.amount_minor as "amountMinor", p.currency, p.amount_paid_minor as "amountPaidMinor", p.fee_minor as "feeMinor",
  p.refunded_minor as "refundedMinor", p.gateway, p.country, p.description, p.metadata,
  p.redirect_url as "redirectUrl", p.is_recurring as "isRecurring", p.customer_id as "customerId",
  p.customer_email as "customerEmail", p.customer_firstname as "customerFirstname",
  p.customer_lastname as "customerLastname", p.access_sealed as "accessSealed", p.attempts_used as "attemptsUsed",
  p.failovers,
  p.payment_method_id as "paymentMethodId", p.recovery_payment_id as "recoveryPaymentId",
  p.link_id as "linkId",
  p.failure_code as "failureCode", p.failure_message as "failureMessage", p.expires_at as "expiresAt",
  p.due_at as "dueAt", p.paid_at as "paidAt", p.created_at as "createdAt"`
export interface LockedPayment extends PaymentRow {
  /** What pending refunds have set aside. */
  refundReservedMinor: bigint
}
