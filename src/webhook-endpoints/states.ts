// The statuses of a webhook endpoint, and the reasons why it is disabled.

export const DISABLED_REASONS = {
  endpoint_gone: 'The endpoint answered 410 Gone, which asks us to stop.',
  endpoint_failing: 'Every delivery has failed for five days.',
  disabled_by_merchant: 'You disabled the endpoint.',
  endpoint_deleted: 'You deleted the endpoint.',
} as const

export type DisabledReason = keyof typeof DISABLED_REASONS

export const ENDPOINT_STATUSES = ['enabled', 'disabled', 'deleted'] as const
