// The face of this slice: the verbs that others may use. Each lives in the file of its name.

export { LINK_ENDED } from './admission.ts'
export { type Admission, createPaymentWriters, type PaymentsApp } from './app.ts'
export { verifyAttempt } from './ask.ts'
export { newGatewayKey } from './attempt.ts'
export { type AttemptRow, listAttempts, ringAttempt } from './attempt-queries.ts'
export { countOpenCases, readPaymentBacklog } from './backlog-queries.ts'
export { openCase, resolveCase } from './cases.ts'
export {
  type CheckoutView,
  cancelCheckout,
  extendCheckout,
  findOffer,
  giveUpAttempt,
  mayGiveUp,
  noteSent,
  refreshCheckout,
  requireCheckout,
  requireCheckoutPayment,
  startAttempt,
  stopAttempt,
} from './checkout.ts'
export { type CollectedRow, findCollected, type GatewayAccount, listCollected } from './collected-queries.ts'
export { PAYMENT_EXAMPLE } from './examples.ts'
export { expireCheckout } from './expire.ts'
export { initiatePayment } from './initiate.ts'
export {
  amountComplaints,
  complaint,
  countryComplaints,
  InitiateBody,
  type InitiateInput,
  initiateComplaints,
  redirectComplaints,
  toInitiateInput,
} from './input.ts'
export { listLinkPayments } from './link-payments.ts'
export { SETTLED_IN_MS } from './prompts.ts'
export { findPayments, holdOpen, type PaymentRow, releaseIdempotencyKey } from './queries.ts'
export { findReferences } from './reference-queries.ts'
export {
  claimDuplicates,
  type DuplicateRow,
  noteDuplicateRefund,
  takeDuplicate,
} from './refund-queries.ts'
export {
  applyRefund,
  findPaidAttempt,
  paymentOf,
  releaseRefund,
  requireRefundable,
  reserveRefund,
} from './refunded.ts'
export { isAllowedReturn, requireAllowedReturn } from './return-url.ts'
export { firstLeaseEnd, isKeyTrusted, resolverLeaseEnd, unknownDelayMs } from './schedule.ts'
export { PaymentRecord } from './schema.ts'
export { isOpen, isUnpaid, PAYMENT_MOVES, PAYMENT_STATUSES, STATUS_MEANINGS } from './states.ts'
export { requirePayment } from './verify.ts'
export { methodOf, openAccessCode, showPayment, showPayments, showStored } from './views.ts'
