// The status of a payment as Medusa's status of the session.

import type { Cowry } from '../../sdk/src/index.ts'
import type { SessionStatus } from './medusa.ts'

type Payment = Awaited<ReturnType<Cowry['payments']['get']>>
type State = Pick<Payment, 'status'> & Partial<Pick<Payment, 'statusReason'>>

const STATUSES: Readonly<Record<Payment['status'], SessionStatus>> = {
  pending: 'requires_more',
  processing: 'pending',
  successful: 'captured',
  partially_refunded: 'captured',
  // The money went back, so there must be no order.
  refunded: 'canceled',
  reversed: 'canceled',
  // It is captured again if the dispute is won, and canceled if it is lost.
  disputed: 'pending',
  failed: 'error',
  abandoned: 'canceled',
  expired: 'canceled',
}

const PAID_ONCE: ReadonlySet<Payment['status']> = new Set([
  'successful',
  'partially_refunded',
  'refunded',
  'disputed',
  'reversed',
])

export function sessionStatusOf({ status, statusReason }: State): SessionStatus {
  // The bank returned a refund, so the money, or a part of it, is here again.
  if (status === 'refunded' && statusReason === 'refund_failed') return 'captured'
  return STATUSES[status]
}

/** Money was collected at some time, even if it went back since. */
export function wasPaid({ status }: State): boolean {
  return PAID_ONCE.has(status)
}

/** The payment can no longer be paid on its checkout page, and holds no money. */
export function hasEnded(state: State): boolean {
  const status = sessionStatusOf(state)
  return status === 'canceled' || status === 'error'
}
