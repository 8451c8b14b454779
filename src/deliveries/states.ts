// Why an endpoint is not called any more, and why a delivery is given up, as tables that can be read aloud.

export const DISABLED_REASONS = {
  endpoint_gone: 'The endpoint answered 410 Gone, which asks us to stop.',
  endpoint_failing: 'Every delivery has failed for five days.',
  disabled_by_merchant: 'You disabled the endpoint.',
  endpoint_deleted: 'You deleted the endpoint.',
} as const

export type DisabledReason = keyof typeof DISABLED_REASONS

/** A delivery dies with its endpoint, or after its last try. */
export const DEAD_REASONS = {
  ...DISABLED_REASONS,
  attempts_exhausted: 'All ten tries failed.',
  crashed: 'Something on our side broke off ten tries before their end was known.',
} as const

export type DeadReason = keyof typeof DEAD_REASONS

export const ENDPOINT_STATUSES = ['enabled', 'disabled', 'deleted'] as const

export const DELIVERY_STATUSES = ['pending', 'delivered', 'dead'] as const

export const REPLAY_STATUSES = ['queued', 'done'] as const
