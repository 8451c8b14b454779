// The face of this slice: the verbs that others may use. Each lives in the file of its name.

export { createPaymentWriters, type PaymentsApp } from './app.ts'
export { verifyAttempt } from './ask.ts'
export type { AttemptRow } from './attempt-queries.ts'
export {
  type CheckoutView,
  cancelCheckout,
  extendCheckout,
  findCandidate,
  giveUpAttempt,
  mayGiveUp,
  noteSent,
  refreshCheckout,
  requireCheckout,
  requireCheckoutPayment,
  startAttempt,
  stopAttempt,
} from './checkout.ts'
export { PAYMENT_EXAMPLE } from './examples.ts'
export { expireCheckout } from './expire.ts'
export { SETTLED_IN_MS } from './prompts.ts'
export type { PaymentRow } from './queries.ts'
export { isAllowedReturn } from './return-url.ts'
export { PaymentRecord } from './schema.ts'
export { isOpen, PAYMENT_MOVES, PAYMENT_STATUSES, STATUS_MEANINGS } from './states.ts'
export { requirePayment } from './verify.ts'
export { showPayment } from './views.ts'
