// Open checkouts whose time has passed. A payment that may have been paid is asked about first, and one whose outcome
// nobody knows waits: time alone proves nothing about money.

import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import { isOpenAttempt, isPolledAfterDecline } from '../outcomes/schedule.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { movePayment, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOpen } from '../payments/states.ts'
import { claimDueCheckouts } from './queries.ts'

// Who dies meanwhile gives the checkout back by then, and an unknown outcome is looked at again by then.
const LEASE_MS = 30_000

/** Claims what is due; each answer is the work of ending one checkout. */
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

/** Ends a checkout for time, unless it was paid or nobody knows. The attempt stays open for money that comes late. */
export async function expireCheckout(app: PaymentsApp, payment: PaymentRow): Promise<PaymentRow> {
  const current = await checkBeforeExpiry(app, payment)
  if (!current || !isOpen(current.status)) return current ?? payment
  const next = plainMove(current, 'expired')
  const moved = await movePayment(app, current, next, {
    kind: 'plain',
    proof: current.status === 'processing' ? 'expired_verified' : 'time',
    source: 'expiry',
  })
  return moved ? next : ((await findPayment(app.db, payment.merchantId, payment.id)) ?? payment)
}

/**
 * The payment as the gateways leave it, or undefined while it must not expire. Also a page that was left or has declined may
 * have been paid after all, so every attempt that is not over is asked about, and one that nobody answers for is waited for.
 */
async function checkBeforeExpiry(app: PaymentsApp, payment: PaymentRow): Promise<PaymentRow | undefined> {
  const attempts = await listAttempts(app.db, payment.merchantId, payment.id)
  const isProcessing = payment.status === 'processing'
  const latest = attempts.at(-1)
  if (isProcessing && !(latest && isOpenAttempt(latest))) return undefined
  let current = payment
  // One that was begun and that the gateway has not taken yet is the resolver's.
  let isConclusive = !isProcessing || latest?.status === 'awaiting_customer'
  for (const attempt of attempts.filter((one) => isOpenAttempt(one) || isPolledAfterDecline(one))) {
    const { payment: checked, answered } = await verifyAttempt(app, { payment: current, attempt }, 'expiry')
    if (!isOpen(checked.status)) return checked
    // Another amount came: a person decides, not the time.
    if (checked.statusReason === 'amount_mismatch') return undefined
    if (!answered) isConclusive = false
    current = checked
  }
  return isConclusive ? current : undefined
}
