// The statuses of deliveries and replays, and the reasons why a delivery is dead-lettered.

import { DISABLED_REASONS } from '../webhook-endpoints/states.ts'

/** A delivery is dead when its endpoint is disabled or deleted, or after its last attempt. */
export const DEAD_REASONS = {
  ...DISABLED_REASONS,
  attempts_exhausted: 'All ten attempts failed.',
  crashed: 'Our service crashed during ten attempts, so their results are unknown.',
} as const

export type DeadReason = keyof typeof DEAD_REASONS

export const DELIVERY_STATUSES = ['pending', 'delivered', 'dead'] as const

export const REPLAY_STATUSES = ['queued', 'done'] as const
