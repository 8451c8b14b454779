// Plans the state transitions of an action on a transfer, as pure functions. Each returns the steps in order: none if the
// action was applied before. It throws an API error if the state does not allow the action.

import { ApiError } from '../core/errors.ts'
import { canMove, type TransferStatus } from './states.ts'
import type { TransferRow } from './transfer.ts'

export interface Step {
  to: TransferStatus
  receivedMinor: bigint | null
}

type TransferState = Pick<TransferRow, 'status' | 'expectedMinor' | 'receivedMinor'>

/** The payer or the merchant marks the transfer as sent. */
export function planMark(transfer: TransferState): Step[] {
  if (transfer.status === 'marked_paid') return []
  if (transfer.status !== 'awaiting_payment') throw invalidStateError(transfer, 'marked as paid')
  return [{ to: 'marked_paid', receivedMinor: null }]
}

/** The merchant confirms the total received. Received money was sent, so marked_paid is passed if necessary. */
export function planConfirm(transfer: TransferState, receivedMinor: bigint): Step[] {
  const { status } = transfer
  if (hasArrived(status) && receivedMinor === transfer.receivedMinor) return []
  const to = statusForReceived(receivedMinor, transfer.expectedMinor)
  if (canMove(status, to)) return [{ to, receivedMinor }]
  if (canMove(status, 'marked_paid')) {
    return [
      { to: 'marked_paid', receivedMinor: null },
      { to, receivedMinor },
    ]
  }
  throw invalidStateError(transfer, 'confirmed')
}

function hasArrived(status: TransferStatus): boolean {
  return status === 'confirmed' || status === 'overpaid' || status === 'underpaid'
}

function statusForReceived(receivedMinor: bigint, expectedMinor: bigint): TransferStatus {
  if (receivedMinor === expectedMinor) return 'confirmed'
  return receivedMinor < expectedMinor ? 'underpaid' : 'overpaid'
}

/** The merchant reports that the money, or the rest of it, did not arrive. */
export function planReject(transfer: TransferState): Step[] {
  if (transfer.status === 'rejected') return []
  if (!canMove(transfer.status, 'rejected')) throw invalidStateError(transfer, 'rejected')
  return [{ to: 'rejected', receivedMinor: transfer.receivedMinor }]
}

/** The merchant cancels the transfer, which is possible until it is marked as sent. */
export function planCancel(transfer: TransferState): Step[] {
  if (transfer.status === 'cancelled') return []
  if (!canMove(transfer.status, 'cancelled')) throw invalidStateError(transfer, 'cancelled')
  return [{ to: 'cancelled', receivedMinor: null }]
}

/** Only a transfer that still awaits the payment has a due time, so only it expires. */
export function planExpiry(transfer: TransferState & Pick<TransferRow, 'dueAt'>, now: Date): Step[] {
  const isDue = transfer.dueAt !== null && transfer.dueAt <= now
  return isDue ? [{ to: 'expired', receivedMinor: null }] : []
}

function invalidStateError({ status }: TransferState, action: string): ApiError {
  return new ApiError('invalid_state', { message: `This transfer is ${status} and cannot be ${action}.` })
}
