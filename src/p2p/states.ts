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
  awaiting_payment: 'The payer knows where to send the money.',
  marked_paid: 'The payer, or the merchant, says that it was sent; the merchant looks for it.',
  underpaid:
    'Less arrived than was asked for; a payment that waits for it stays open for the rest, and one that has expired stays expired until the whole amount is confirmed.',
  confirmed: 'The merchant has the whole amount: the payment is successful.',
  overpaid:
    'The merchant has more than was asked for: the payment is successful, and the rest is owed to the payer.',
  rejected: 'The merchant did not find the money: the payment has failed.',
  expired: 'The time passed. Late money is money: it can still be confirmed.',
  cancelled: 'The merchant called the transfer off before anything was sent: the payment has failed.',
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
