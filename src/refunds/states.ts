// The states of a refund, and the reasons why one is still pending or needs manual review. A timeout is not a failure: a
// refund fails only if the gateway says so. It can say so after a success; the refund fails when the merchant takes the
// money back.

export const REFUND_MOVES = {
  pending: ['successful', 'failed'],
  successful: ['failed'],
  failed: [],
} as const satisfies Record<string, readonly string[]>

export type RefundStatus = keyof typeof REFUND_MOVES

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const REFUND_STATUSES = Object.keys(REFUND_MOVES) as RefundStatus[]

export const REFUND_REASONS = {
  outcome_unknown: 'It may have reached the gateway; its status is polled, and it is never paid twice.',
  queued: 'The gateway processes one refund of a payment at a time, and another one is in progress.',
  gateway_unavailable: 'Nothing was sent yet; it is sent as soon as the gateway can be reached.',
  requires_review: 'The gateway has not reported an outcome for a long time: a case is open.',
  failed_late: 'It was successful, and the gateway reported later that it failed: a case is open.',
  credited_back: 'It failed after its success. The money is in your wallet again, and can be refunded again.',
  returned_elsewhere: 'It failed after its success, and the payer got the money by other means.',
  written_off: 'It failed after its success, and the money was written off.',
} as const satisfies Record<string, string>

export type RefundReason = keyof typeof REFUND_REASONS
