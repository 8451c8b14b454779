// Capacity check: a payment of a link needs a slot of the link before it goes to a gateway, so that a link never collects
// more payments than it allows. A payment without a link needs none.

import { ApiError } from '../core/errors.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { movePayment, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'

/** The status reason of a payment that expired because its link takes no further payment. */
export const LINK_ENDED = 'payment_link_ended'

export async function requireCapacity(app: PaymentsApp, payment: PaymentRow): Promise<void> {
  if (payment.linkId === null) return
  const capacity = await app.checkCapacity(payment)
  if (capacity === 'available') return
  // The payers who hold the slots may still fail, so the checkout stays open and the payer may retry.
  if (capacity === 'busy') throw new ApiError('payment_link_busy', { retryAfterSeconds: RETRY_AFTER_SECONDS })
  await expireForEndedLink(app, payment)
  throw new ApiError('payment_link_ended')
}

// Most payers have approved or declined by then.
const RETRY_AFTER_SECONDS = 60

/** The link takes no further payment, so the checkout ends now. */
async function expireForEndedLink(app: PaymentsApp, payment: PaymentRow): Promise<void> {
  const ended = plainMove(payment, 'expired', LINK_ENDED)
  await movePayment(app, payment, ended, { kind: 'plain', proof: 'time', source: 'checkout' })
}
