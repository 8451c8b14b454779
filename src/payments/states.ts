// The state machine of payments and charges, as a table one can read aloud. The same pairs stand in the database as a
// check on every move; a test holds the two against each other.

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
    'Declined for good. Late money is money: a proof that comes late still counts, here and in the next two.',
  abandoned: 'The customer cancelled and left.',
  expired: 'The time passed with nothing paid.',
  partially_refunded: 'A part of the money went back.',
  refunded: 'All of the money went back.',
  disputed: 'A chargeback is open: won leads back, lost on.',
  reversed: 'The provider took the money back.',
}

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const PAYMENT_STATUSES = Object.keys(PAYMENT_MOVES) as PaymentStatus[]

export function canMove(from: PaymentStatus, to: PaymentStatus): boolean {
  const allowed: readonly string[] = PAYMENT_MOVES[from]
  return allowed.includes(to)
}

/** Still waiting for an end. */
export function isOpen(status: PaymentStatus): boolean {
  return status === 'pending' || status === 'processing'
}

/** Nothing was collected (yet): a proven success may still arrive. */
export function isUnpaid(status: PaymentStatus): boolean {
  return canMove(status, 'successful') && status !== 'disputed'
}

export type AttemptStatus =
  | 'started'
  | 'awaiting_customer'
  | 'succeeded'
  | 'declined'
  | 'amount_mismatch'
  | 'duplicate_success'
  | 'requires_review'

export type MoveSource = 'api' | 'checkout' | 'return' | 'verify' | 'webhook' | 'resolver' | 'expiry'

/** What makes a move true. `failed` needs one of the middle three, `successful` the gateway's own word. */
export type Proof = 'gateway' | 'declined' | 'not_sent' | 'expired_verified' | 'customer' | 'time'

/** The event of a move: the status is its name, except that a partial refund is told as a refund. */
export function eventType(kind: 'checkout' | 'charge', status: PaymentStatus): EventType {
  const noun = kind === 'charge' ? 'charge' : 'payment'
  const type = `${noun}.${status === 'partially_refunded' ? 'refunded' : status}`
  if (isEventType(type)) return type
  throw new Error(`a ${noun} is never ${status}`)
}
