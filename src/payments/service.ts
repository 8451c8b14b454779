// The face of this slice: the verbs that others may use. Each lives in the file of its name.

export { LINK_ENDED } from '../checkout/capacity.ts'
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
} from '../checkout/checkout.ts'
export { initiatePayment } from '../checkout/initiate.ts'
export { SETTLED_IN_MS } from '../checkout/prompts.ts'
export { isAllowedReturn, requireAllowedReturn } from '../checkout/return-url.ts'
export { openCase, resolveCase } from '../disputes/cases.ts'
export { firstLeaseEnd, isKeyTrusted, resolverLeaseEnd, unknownDelayMs } from '../outcomes/schedule.ts'
export { verifyAttempt } from '../outcomes/status-check.ts'
export { requirePayment } from '../outcomes/verify.ts'
export {
  type CollectedRow,
  findCollected,
  type GatewayAccount,
  listCollected,
} from '../reconciliation/collected-queries.ts'
export {
  applyRefund,
  findPaidAttempt,
  paymentOf,
  releaseRefund,
  requireRefundable,
  reserveRefund,
} from '../refunds/payment-effects.ts'
export { countOpenCases, readPaymentBacklog } from '../resolver/backlog-queries.ts'
export { expireCheckout } from '../resolver/expire.ts'
export { type Admission, createPaymentWriters, type PaymentsApp } from './app.ts'
export { newGatewayKey } from './attempt.ts'
export { type AttemptRow, listAttempts, ringAttempt } from './attempt-queries.ts'
export { PAYMENT_EXAMPLE } from './examples.ts'
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
export { findPayments, holdOpen, type PaymentRow, releaseIdempotencyKey } from './queries.ts'
export { findReferences } from './reference-queries.ts'
export {
  claimDuplicates,
  type DuplicateRow,
  noteDuplicateRefund,
  takeDuplicate,
} from './refund-queries.ts'
export { PaymentRecord } from './schema.ts'
export { isOpen, isUnpaid, PAYMENT_MOVES, PAYMENT_STATUSES, STATUS_MEANINGS } from './states.ts'
export { methodOf, openAccessCode, showPayment, showPayments, showStored } from './views.ts'
