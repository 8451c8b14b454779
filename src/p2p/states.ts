// The state machine of a transfer as a table. A database constraint checks the same pairs on every move; a test compares the
// two.

import type { EventType } from '../core/event-types.ts'

export const TRANSFER_MOVES = {
  awaiting_payment: ['marked_paid', 'expired', 'cancelled'],
  marked_paid: ['confirmed', 'underpaid', 'overpaid', 'rejected'],
  underpaid: ['underpaid', 'confirmed', 'overpaid', 'rejected'],
  confirmed: [],
  overpaid: [],
  rejected: [],
  expired: ['awaiting_payment', 'marked_paid'],
  cancelled: [],
} as const satisfies Record<string, readonly string[]>

export type TransferStatus = keyof typeof TRANSFER_MOVES

export const TRANSFER_MEANINGS: Readonly<Record<TransferStatus, string>> = {
  awaiting_payment: 'The payer has the instructions and has not sent the money yet.',
  marked_paid: 'The payer or the merchant has marked the transfer as sent; the merchant has to confirm it.',
  underpaid:
    'Less arrived than expected. The payment stays open for the rest; an expired payment stays expired until the whole amount is confirmed.',
  confirmed: 'The merchant has received the whole amount: the payment is successful.',
  overpaid:
    'The merchant has received more than expected: the payment is successful, and the merchant owes the excess to the payer.',
  rejected: 'The merchant did not find the money: the payment has failed.',
  expired: 'The time passed. A late payment can still be confirmed.',
  cancelled: 'The merchant cancelled the transfer before it was marked as sent: the payment has failed.',
}

// A boundary: Object.keys returns string[], although the keys of this constant are exactly its type's keys.
export const TRANSFER_STATUSES = Object.keys(TRANSFER_MOVES) as TransferStatus[]

export function canMove(from: TransferStatus, to: TransferStatus): boolean {
  const allowed: readonly string[] = TRANSFER_MOVES[from]
  return allowed.includes(to)
}

export function eventOf(status: TransferStatus): EventType {
  return `p2p.${status}`
}
