// What a payer can do with a checkout besides starting an attempt: cancel, resume, switch to another method, extend,
// refresh.

import { moveAndCloseCases } from '../cases/open.ts'
import { isDirect } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { applyOutcome } from '../outcomes/apply.ts'
import { hasUsedAllAttempts } from '../outcomes/decide.ts'
import { isCompleting, isOpenAttempt } from '../outcomes/schedule.ts'
import { checkStatus } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { gatewayOf, toStatusQuery } from '../payments/gateway-request.ts'
import { plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { CUSTOMER_CANCELLED, isOpen, type MoveSource } from '../payments/states.ts'
import { isRecentPrompt } from './phone-prompts.ts'
import { extendExpiry, markSentOrReturned, setOpenReason } from './queries.ts'
import { type CheckoutView, reloadView, withAttempts } from './view.ts'

/** Whether the payer may cancel the current attempt and switch to another method. */
export function canCancelAttempt({ payment, attempt }: CheckoutView, now: Date): boolean {
  const isInProgress = payment.status === 'processing' && attempt !== undefined && isOpenAttempt(attempt)
  if (!isInProgress || isCompleting({ payment, attempt })) return false
  return !isRecentPrompt(attempt, now) && !isDirectTransferSent(attempt)
}

/** The payer reports a direct transfer as sent. Only the merchant can say that it did not arrive. */
export function isDirectTransferSent({ choice, sentAt }: AttemptRow): boolean {
  return sentAt !== null && choice !== null && isDirect(choice.channel)
}

/**
 * Cancels the current attempt, so that the payer can switch to another method. A payment that was completed meanwhile
 * counts. A no-op while the payer may be typing the PIN.
 */
export async function cancelAttempt(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  if (!canCancelAttempt(view, app.clock.now())) return view
  const stopped = await stopAttempt(app, view)
  const { payment, attempt } = stopped.view
  const isStillAwaiting =
    stopped.answered && payment.status === 'processing' && attempt?.status === 'awaiting_customer'
  if (!isStillAwaiting || hasUsedAllAttempts(payment)) return stopped.view
  // The gateway cannot close its page, so the payer may still pay there. The first success counts; a second one is a
  // duplicate payment.
  return reopen(app, view, payment)
}

// The limit of all extensions together: the merchant's stock is reserved for no longer than the longest checkout.
const MAX_CHECKOUT_MS = 24 * 3_600_000

/**
 * Gives the payer the full time again. An open checkout is never shortened, an ended one stays ended, and a suspended
 * merchant gets no more time.
 */
export async function extendCheckout(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  const { payment } = view
  if (await app.isSuspended(payment.merchantId)) return view
  const now = app.clock.now()
  const latest = addMs(payment.createdAt, MAX_CHECKOUT_MS)
  const extended = addMs(now, app.settings.checkoutMs)
  await extendExpiry(app.db, payment.merchantId, payment.id, now, extended < latest ? extended : latest)
  return reloadView(app, payment)
}

/**
 * The payer cancels and leaves. The checkout stays payable until it expires, so that the payer can pay after all. A no-op
 * while the outcome is unknown: the payer may have paid.
 */
export async function cancelCheckout(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  const stopped = await stopAttempt(app, view)
  const { payment, attempt } = stopped.view
  const mayBePaid =
    payment.status === 'processing' && (!stopped.answered || attempt?.status !== 'awaiting_customer')
  if (!isOpen(payment.status) || mayBePaid) return stopped.view
  // With all attempts used, the open page of the gateway is the only way left to pay.
  const canReopen = payment.status === 'processing' && !hasUsedAllAttempts(payment)
  const reopened = canReopen ? await reopen(app, view, payment) : stopped.view
  const { payment: current } = reopened
  if (canReopen && current.status !== 'pending') return reopened
  const { expiresAt } = view.payment
  await setOpenReason(app.db, { ...current, expiresAt }, CUSTOMER_CANCELLED)
  return reloadView(app, payment)
}

/** The payer who has cancelled wants to pay after all. Starting an attempt resumes the checkout too. */
export async function resumeCheckout(app: PaymentsApp, { payment }: CheckoutView): Promise<void> {
  if (payment.statusReason === CUSTOMER_CANCELLED) await setOpenReason(app.db, payment, null)
}

/** A no-op if the checkout was extended since the payer's view, because a transfer was reported as sent. */
async function reopen(app: PaymentsApp, previous: CheckoutView, payment: PaymentRow): Promise<CheckoutView> {
  const { expiresAt: expectedExpiresAt } = previous.payment
  const move = { kind: 'plain', proof: 'customer', source: 'checkout', expectedExpiresAt } as const
  await moveAndCloseCases(app, payment, plainMove(payment, 'pending'), move)
  return reloadView(app, payment)
}

/** Cancels the attempt at the gateway, or checks its status. `answered` is false if the outcome is unknown. */
export async function stopAttempt(
  app: PaymentsApp,
  view: CheckoutView,
): Promise<{ view: CheckoutView; answered: boolean }> {
  const { payment, attempt } = view
  if (payment.status !== 'processing' || !attempt || !isOpenAttempt(attempt)) return { view, answered: false }
  // The money may have moved, so the attempt cannot be cancelled before a status check.
  if (isCompleting({ payment, attempt })) return { view, answered: false }
  const gateway = await gatewayOf(app, attempt)
  // A charge of a saved method cannot be stopped: the payer has nothing to do for it.
  const stop = (attempt.operation === 'checkout' && gateway.cancel) || gateway.verify
  const outcome = await stop(toStatusQuery(payment, attempt), attempt.gatewayReference)
  await applyOutcome(app, gateway, { payment, attempt }, outcome, { source: 'checkout' })
  return { view: await reloadView(app, payment), answered: outcome.kind !== 'unknown' }
}

/** The payer reports the money as sent. This changes only the text of the page. */
export async function markPayerSent(app: PaymentsApp, { attempt }: CheckoutView): Promise<void> {
  if (attempt && isOpenAttempt(attempt)) await markSentOrReturned(app.db, attempt, 'sent', app.clock.now())
}

/** Checks the status when the payer returns from the gateway's page, or when the page polls. */
export async function refreshCheckout(
  app: PaymentsApp,
  view: CheckoutView,
  source: MoveSource,
): Promise<CheckoutView> {
  const { attempt } = view
  if (source === 'return' && attempt && isOpenAttempt(attempt))
    await markSentOrReturned(app.db, attempt, 'returned', app.clock.now())
  return withAttempts(app, await checkStatus(app, view.payment, source))
}
