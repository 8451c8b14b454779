// The state machine of payments and charges. The database checks every move against the same pairs; a test compares the
// two tables.

import { type EventType, isEventType } from '../core/event-types.ts'

export const PAYMENT_MOVES = {
  pending: ['processing', 'successful', 'failed', 'abandoned', 'expired'],
  processing: ['pending', 'successful', 'failed', 'abandoned', 'expired'],
  successful: ['partially_refunded', 'refunded', 'disputed', 'reversed'],
  failed: ['successful'],
  abandoned: ['successful'],
  expired: ['successful'],
  partially_refunded: ['refunded', 'disputed'],
  refunded: ['disputed'],
  disputed: ['successful', 'reversed'],
  reversed: [],
} as const satisfies Record<string, readonly string[]>

export type PaymentStatus = keyof typeof PAYMENT_MOVES

export const STATUS_MEANINGS: Readonly<Record<PaymentStatus, string>> = {
  pending: 'The checkout is open and the customer has not paid; a decline comes back here.',
  processing:
    'An attempt is with the gateway: the customer is approving it, or the outcome is not known yet.',
  successful: 'Money was collected, proven by the gateway.',
  failed:
    'Declined for good. A late payment is accepted: a proof that arrives later still counts, as in abandoned and expired.',
  abandoned:
    'The merchant cancelled the payment, or its time passed after the customer had cancelled. A customer who cancels can still pay until then: the payment stays open with statusReason customer_cancelled.',
  expired: 'The time passed with nothing paid.',
  partially_refunded: 'A part of the money was refunded.',
  refunded:
    'All of the money was refunded. The statusReason refund_failed says, here and in partially_refunded, that a refund failed after its success: refundedAmount is the total of the others, and the rest can be refunded again.',
  disputed: 'A dispute is open. If it is won, the payment is successful again; if it is lost, reversed.',
  reversed: 'The provider took the money back.',
}

// Object.keys returns string[]; the keys of this constant are exactly those of its type.
export const PAYMENT_STATUSES = Object.keys(PAYMENT_MOVES) as PaymentStatus[]

/** With which status a payment is written, as version 1. The moves are the changes after it. */
export const FIRST_STATES = {
  checkout: { status: 'pending', reason: null },
  // Stays true until the gateway has reported an outcome, even if this process dies.
  charge: { status: 'processing', reason: 'outcome_unknown' },
} as const satisfies Record<string, { status: PaymentStatus; reason: StatusReason | null }>

export function canMove(from: PaymentStatus, to: PaymentStatus): boolean {
  const allowed: readonly string[] = PAYMENT_MOVES[from]
  return allowed.includes(to)
}

/** The payment has not ended yet. */
export function isOpen(status: PaymentStatus): boolean {
  return status === 'pending' || status === 'processing'
}

/** No money was collected so far; a proven success may still arrive. */
export function isUnpaid(status: PaymentStatus): boolean {
  return canMove(status, 'successful') && status !== 'disputed'
}

/** The status reason of an open payment whose customer has cancelled; it is cleared when the customer pays after all. */
export const CUSTOMER_CANCELLED = 'customer_cancelled'

/** Why a payment has its status, where the status alone does not say it. */
export const STATUS_REASONS = [
  'awaiting_customer',
  'outcome_unknown',
  'marked_paid',
  'underpaid',
  CUSTOMER_CANCELLED,
  'merchant_cancelled',
  'payment_link_ended',
  'amount_mismatch',
  'needs_review',
  'requires_review',
  'returned',
  'written_off',
  'marked_failed',
  'refund_failed',
] as const

export type StatusReason = (typeof STATUS_REASONS)[number]

export const ATTEMPT_STATUSES = [
  'started',
  'awaiting_customer',
  'succeeded',
  'declined',
  'amount_mismatch',
  'duplicate_success',
  'requires_review',
] as const

export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number]

export type MoveSource = 'api' | 'checkout' | 'return' | 'verify' | 'webhook' | 'resolver' | 'expiry' | 'case'

/**
 * The evidence of a move: `customer` and `merchant` are decisions of theirs, and `review` is a person's resolution of a case.
 * `page_lost`: the URL of the page was lost, so it cannot be paid. `failed` needs declined, not_sent, page_lost,
 * expired_verified or review; `successful` needs gateway or review.
 */
export type Proof =
  | 'gateway'
  | 'declined'
  | 'not_sent'
  | 'page_lost'
  | 'expired_verified'
  | 'review'
  | 'customer'
  | 'merchant'
  | 'time'

/** The event type of a move: the new status, except that a partial refund has the event of a refund. */
export function eventType(kind: 'checkout' | 'charge', status: PaymentStatus): EventType {
  const noun = kind === 'charge' ? 'charge' : 'payment'
  const type = `${noun}.${status === 'partially_refunded' ? 'refunded' : status}`
  if (isEventType(type)) return type
  throw new Error(`a ${noun} cannot have the status ${status}`)
}
