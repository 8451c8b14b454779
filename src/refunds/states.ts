// The states of a refund, and why one is still pending or needs a person. A timeout is not a failure: a refund fails only by the gateway's
// own word.

export const REFUND_MOVES = {
  pending: ['successful', 'failed'],
  successful: [],
  failed: [],
} as const satisfies Record<string, readonly string[]>

export type RefundStatus = keyof typeof REFUND_MOVES

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const REFUND_STATUSES = Object.keys(REFUND_MOVES) as RefundStatus[]

export const REFUND_REASONS = {
  outcome_unknown: 'It may have reached the gateway; it is asked, and never given twice.',
  queued: 'The gateway takes one refund of a payment at a time, and another one is on its way.',
  gateway_unavailable: 'Nothing was sent yet; it will be, as soon as the gateway can be reached.',
  requires_review: 'The gateway has not told for long what became of it: a person has to look.',
  failed_late: 'It was successful, and the gateway says later that it failed: a person has to look.',
} as const satisfies Record<string, string>

export type RefundReason = keyof typeof REFUND_REASONS
