// Expires open checkouts whose time has passed, or abandons them if the payer had cancelled. The status of every open attempt is checked first, and a payment with an
// unknown outcome does not expire: the payer may have paid.

import { moveAndCloseCases } from '../cases/open.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import { isOpenAttempt, isPolledAfterDecline } from '../outcomes/schedule.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { CUSTOMER_CANCELLED, isOpen } from '../payments/states.ts'
import { claimDueCheckouts } from './queries.ts'

// When a checkout is claimed again after a crash, or after an unknown outcome.
const LEASE_MS = 30_000

/** Claims due checkouts and returns one task for each. */
export async function claimExpiries(app: PaymentsApp, limit: number): Promise<(() => Promise<void>)[]> {
  const now = app.clock.now()
  const due = await claimDueCheckouts(app.db, now, addMs(now, LEASE_MS), limit)
  return due.map((payment) => () => expireClaimed(app, payment))
}

async function expireClaimed(app: PaymentsApp, payment: PaymentRow): Promise<void> {
  try {
    await app.failpoints.hit('expiry.after_claim')
    await expireCheckout(app, payment)
  } catch (error) {
    app.log.write('checkout.expiry_failed', { paymentId: payment.id, ...errorFields(error) })
  }
}

/** Expires a checkout, unless it was paid or its outcome is unknown. The attempt stays open for a late payment. */
export async function expireCheckout(app: PaymentsApp, payment: PaymentRow): Promise<PaymentRow> {
  const current = await checkBeforeExpiry(app, payment)
  if (!current || !isOpen(current.status)) return current ?? payment
  const isCancelled = current.statusReason === CUSTOMER_CANCELLED
  const next = isCancelled
    ? plainMove(current, 'abandoned', CUSTOMER_CANCELLED)
    : plainMove(current, 'expired')
  const moved = await moveAndCloseCases(app, current, next, {
    kind: 'plain',
    proof: current.status === 'processing' ? 'expired_verified' : 'time',
    source: 'expiry',
    expectedExpiresAt: current.expiresAt,
  })
  return moved ? next : ((await findPayment(app.db, payment.merchantId, payment.id)) ?? payment)
}

/**
 * The payment after a status check of every attempt that may still be paid, or undefined while it must not expire. That
 * includes cancelled and declined attempts whose page is still open. If a gateway does not answer, the payment waits.
 */
async function checkBeforeExpiry(app: PaymentsApp, payment: PaymentRow): Promise<PaymentRow | undefined> {
  const attempts = await listAttempts(app.db, payment.merchantId, payment.id)
  const isProcessing = payment.status === 'processing'
  const latest = attempts.at(-1)
  if (isProcessing && !(latest && isOpenAttempt(latest))) return undefined
  let current = payment
  // An attempt that the gateway has not accepted yet is left to the resolver.
  let isConclusive = !isProcessing || latest?.status === 'awaiting_customer'
  for (const attempt of attempts.filter((one) => isOpenAttempt(one) || isPolledAfterDecline(one))) {
    const { payment: checked, answered } = await verifyAttempt(app, { payment: current, attempt }, 'expiry')
    if (!isOpen(checked.status)) return checked
    // The payer has paid another amount: this needs manual review and does not expire.
    if (checked.statusReason === 'amount_mismatch') return undefined
    if (!answered) isConclusive = false
    current = checked
  }
  return isConclusive ? current : undefined
}
