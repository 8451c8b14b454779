// The face of this slice: the verbs that others may use. Each lives in the file of its name.

export { LINK_ENDED } from './admission.ts'
export { type Admission, createPaymentWriters, type PaymentsApp } from './app.ts'
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
export { initiatePayment } from './initiate.ts'
export {
  amountComplaints,
  complaint,
  countryComplaints,
  type InitiateInput,
  redirectComplaints,
} from './input.ts'
export { SETTLED_IN_MS } from './prompts.ts'
export type { PaymentRow } from './queries.ts'
export { isAllowedReturn, requireAllowedReturn } from './return-url.ts'
export { PaymentRecord } from './schema.ts'
export { isOpen, isUnpaid, PAYMENT_MOVES, PAYMENT_STATUSES, STATUS_MEANINGS } from './states.ts'
export { requirePayment } from './verify.ts'
export { showPayment } from './views.ts'
