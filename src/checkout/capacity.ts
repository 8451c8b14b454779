// Before a payment of a link goes to a gateway, whoever keeps the link is asked whether there is room for it: nobody is
// charged for what somebody else is paying at this moment. A payment without a link asks nobody.

import { ApiError } from '../core/errors.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { movePayment, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'

/** Why a payment is over that its link does not let through. */
export const LINK_ENDED = 'payment_link_ended'

export async function requireCapacity(app: PaymentsApp, payment: PaymentRow): Promise<void> {
  if (payment.linkId === null) return
  const capacity = await app.checkCapacity(payment)
  if (capacity === 'available') return
  // The others may still fail, and then this payer is welcome: the checkout stays open as long as it would.
  if (capacity === 'busy') throw new ApiError('payment_link_busy', { retryAfterSeconds: RETRY_AFTER_SECONDS })
  await expireForEndedLink(app, payment)
  throw new ApiError('payment_link_ended')
}

// Most payers have approved or refused by then.
const RETRY_AFTER_SECONDS = 60

/** There is nothing left to wait for, so nobody is asked to pay here any more. */
async function expireForEndedLink(app: PaymentsApp, payment: PaymentRow): Promise<void> {
  const ended = { ...plainMove(payment, 'expired'), statusReason: LINK_ENDED }
  await movePayment(app, payment, ended, { kind: 'plain', proof: 'time', source: 'checkout' })
}
