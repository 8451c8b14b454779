// What somebody's word means for a transfer: a pure function of what is known. Answers the moves to make, in order; none
// when the same was said before, and a refusal when the state does not allow it.

import { Refusal } from '../core/errors.ts'
import { canMove, type TransferStatus } from './states.ts'
import type { TransferRow } from './transfer-queries.ts'

export interface Step {
  to: TransferStatus
  receivedMinor: bigint | null
}

type Known = Pick<TransferRow, 'status' | 'expectedMinor' | 'receivedMinor'>

/** The payer or the merchant says that the money was sent. */
export function planMark(transfer: Known): Step[] {
  if (transfer.status === 'marked_paid') return []
  if (transfer.status !== 'awaiting_payment') throw notNow(transfer, 'marked as paid')
  return [{ to: 'marked_paid', receivedMinor: null }]
}

/** The merchant says how much has arrived in all. Whoever sees the money also knows that it was sent. */
export function planConfirm(transfer: Known, receivedMinor: bigint): Step[] {
  const { status } = transfer
  if (hasArrived(status) && receivedMinor === transfer.receivedMinor) return []
  const to = weigh(receivedMinor, transfer.expectedMinor)
  if (canMove(status, to)) return [{ to, receivedMinor }]
  if (canMove(status, 'marked_paid')) {
    return [
      { to: 'marked_paid', receivedMinor: null },
      { to, receivedMinor },
    ]
  }
  throw notNow(transfer, 'confirmed')
}

function hasArrived(status: TransferStatus): boolean {
  return status === 'confirmed' || status === 'overpaid' || status === 'underpaid'
}

function weigh(receivedMinor: bigint, expectedMinor: bigint): TransferStatus {
  if (receivedMinor === expectedMinor) return 'confirmed'
  return receivedMinor < expectedMinor ? 'underpaid' : 'overpaid'
}

/** The merchant says that the money, or the rest of it, did not arrive. */
export function planReject(transfer: Known): Step[] {
  if (transfer.status === 'rejected') return []
  if (!canMove(transfer.status, 'rejected')) throw notNow(transfer, 'rejected')
  return [{ to: 'rejected', receivedMinor: transfer.receivedMinor }]
}

/** The merchant calls the transfer off, while nobody says that money was sent. */
export function planCancel(transfer: Known): Step[] {
  if (transfer.status === 'cancelled') return []
  if (!canMove(transfer.status, 'cancelled')) throw notNow(transfer, 'cancelled')
  return [{ to: 'cancelled', receivedMinor: null }]
}

/** The time is up: only what still waits ends for it. */
export function planExpiry(transfer: Known & Pick<TransferRow, 'dueAt'>, now: Date): Step[] {
  const isDue = transfer.dueAt !== null && transfer.dueAt <= now
  return isDue ? [{ to: 'expired', receivedMinor: null }] : []
}

function notNow({ status }: Known, what: string): Refusal {
  return new Refusal('invalid_state', { message: `This transfer is ${status} and cannot be ${what}.` })
}
