// The face of this slice: the verbs that others may use. Each lives in the file of its name.

export { readRefundBacklog } from './backlog-queries.ts'
export { findGiven } from './given-queries.ts'
export { listRefunds, requireRefund } from './list.ts'
export { ringRefunds } from './pursue.ts'
export type { RefundRing } from './queries.ts'
export { requestRefund } from './request.ts'
