/** A duplicate payment whose refund is due: an attempt that succeeded after its payment was paid. */
export interface DuplicateRow {
  merchantId: string
  attemptId: string
  paymentId: string
  /** An open case says that the gateway cannot refund it. */
  hasOpenCase: boolean
}
