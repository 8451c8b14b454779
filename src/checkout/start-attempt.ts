// Starts an attempt of an open checkout, with failover to the next gateway. A checkout may have many attempts and at most
// one success.

import { ApiError } from '../core/errors.ts'
import { isBlocked } from '../customers/service.ts'
import type { CheckoutChoice } from '../gateways/gateway.ts'
import type { Candidate } from '../gateways/registry.ts'
import { addMs } from '../kit/clock.ts'
import { createSingleFlight } from '../kit/single-flight.ts'
import { applyOutcome } from '../outcomes/apply.ts'
import { hasUsedAllAttempts, isNotSubmitted } from '../outcomes/decide.ts'
import { firstLeaseEnd, isLostPageUnpayable, schedulePoll } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { newAttempt } from '../payments/attempt.ts'
import { findPayment } from '../payments/find.ts'
import { newGatewayKey } from '../payments/gateway-request.ts'
import { movePayment, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { requireCapacity } from './capacity.ts'
import { requireOffered } from './offer.ts'
import { assertNoRecentPrompt, assertPromptCooldown, claimPhone } from './phone-prompts.ts'
import { extendExpiry } from './queries.ts'
import { submitCheckout } from './submit.ts'
import { type CheckoutView, reloadView } from './view.ts'

const shareStart = createSingleFlight<CheckoutView>()

/** Submits an attempt in its own way. `record` commits the attempt first. */
type Submission = (
  payment: PaymentRow,
  record: (start: AttemptStart) => Promise<PaymentWithAttempt | undefined>,
) => Promise<void>

/**
 * Starts an attempt, or returns the one in progress, so that the payer is prompted once. Single flight: a second request
 * during the first one shares it, and consumes no second prompt of the phone's quota.
 */
export function startAttempt(
  app: PaymentsApp,
  view: CheckoutView,
  how: CheckoutChoice | Submission,
): Promise<CheckoutView> {
  return shareStart(app.db, view.payment.id, async () => {
    if (view.payment.status === 'processing') return view
    requireStartable(app, view)
    assertNoRecentPrompt(view.attempts, app.clock.now())
    await assertCollectable(app, view.payment)
    const { payment } = view
    if (typeof how === 'function') await how(payment, (start) => recordExtended(app, payment, start))
    else await submitOnce(app, view, how)
    return reloadView(app, payment)
  })
}

/** The phone may be busy with this payment: the payer has pressed in two windows, and the other request was first. */
async function submitOnce(app: PaymentsApp, view: CheckoutView, choice: CheckoutChoice): Promise<void> {
  try {
    await submitInOrder(app, view, choice)
  } catch (error) {
    const isBusy = error instanceof ApiError && error.code === 'phone_busy'
    if (!isBusy || (await reloadView(app, view.payment)).payment.status === 'pending') throw error
  }
}

async function submitInOrder(app: PaymentsApp, view: CheckoutView, choice: CheckoutChoice): Promise<void> {
  const { payment } = view
  const candidates = await requireOffered(app, payment, choice)
  assertPromptCooldown(view.attempts, choice, app.clock.now())
  // Failover: the next gateway is tried only if the one before provably began nothing that can be paid.
  let retryable: PaymentRow | undefined = payment
  for (const [index, candidate] of candidates.entries()) {
    const gatewayKey = newGatewayKey(app.random)
    const action = { failovers: index, isLast: index === candidates.length - 1, gatewayKey }
    // Also for a failover: the decline has released the slot of the link, and the phone.
    await requireCapacity(app, retryable)
    await claimPhone(app, choice, gatewayKey, { isFailover: index > 0 })
    if (index === 0) {
      retryable = choice.channel === 'card' ? payment : await extendForPayerAction(app, payment)
      if (!retryable) break
      await app.failpoints.hit('checkout.before_start')
    }
    retryable = await submitToCandidate(app, retryable, candidate, choice, action)
    if (!retryable) break
  }
}

// Longer than mobile money operators wait for the PIN, so that a checkout does not expire during an open prompt.
const PAYER_ACTION_MS = 360_000

/**
 * Extends a checkout that is about to expire, so that a payer who acts on a phone or another page can finish. Only when the
 * attempt is about to be recorded: a rejected form must not keep a checkout open. Undefined if the payment has moved since it
 * was read, because the payer has started an attempt in another window.
 */
async function extendForPayerAction(app: PaymentsApp, payment: PaymentRow): Promise<PaymentRow | undefined> {
  const now = app.clock.now()
  const minExpiresAt = addMs(now, PAYER_ACTION_MS)
  if (payment.expiresAt === null || payment.expiresAt >= minExpiresAt) return payment
  await extendExpiry(app.db, payment.merchantId, payment.id, now, minExpiresAt)
  const extended = await findPayment(app.db, payment.merchantId, payment.id)
  return extended?.status === 'pending' ? extended : undefined
}

async function recordExtended(
  app: PaymentsApp,
  payment: PaymentRow,
  start: AttemptStart,
): Promise<PaymentWithAttempt | undefined> {
  const extended = await extendForPayerAction(app, payment)
  return extended && recordAttempt(app, extended, start)
}

interface PayerAction {
  /** How many gateways have provably begun nothing since the payer's action. */
  failovers: number
  /** No candidate is left after this one. */
  isLast: boolean
  gatewayKey: string
}

/** Records the attempt, calls the gateway and applies the outcome. Returns the payment only if the next one may be tried. */
async function submitToCandidate(
  app: PaymentsApp,
  payment: PaymentRow,
  candidate: Candidate,
  choice: CheckoutChoice,
  action: PayerAction,
): Promise<PaymentRow | undefined> {
  const { gateway, accountId } = candidate
  const start = {
    operation: 'checkout',
    gateway: gateway.name,
    accountId,
    gatewayKey: action.gatewayKey,
    channel: choice.channel,
    choice,
  } as const
  const current = await recordAttempt(app, payment, start, action.failovers > 0 ? 1 : 0)
  if (!current) return undefined
  await app.failpoints.hit('checkout.after_start')
  const outcome = await submitCheckout(app, gateway, current)
  await app.failpoints.hit('checkout.after_call')
  const isPageLost = isLostPageUnpayable(gateway, current.attempt)
  const isSafe = isNotSubmitted(outcome) || (isPageLost && outcome.kind === 'unknown')
  const canFailOver = !action.isLast && isSafe
  const context = { source: 'checkout', firstCall: true, canFailOver, isPageLost } as const
  const applied = await applyOutcome(app, gateway, current, outcome, context)
  if (outcome.kind !== 'pending') await schedulePoll(app, applied, outcome, gateway.behavior)
  // If the resolver has claimed the attempt meanwhile, its call may have reached the gateway: no failover then.
  const isFree = applied.attempt.status === 'declined' && applied.payment.status === 'pending'
  if (!canFailOver || !isFree) return undefined
  const { merchantId, id: paymentId } = payment
  app.log.write('checkout.gateway_failover', { merchantId, paymentId, gateway: gateway.name })
  return applied.payment
}

type AttemptStart = Pick<
  AttemptRow,
  'operation' | 'gateway' | 'accountId' | 'gatewayKey' | 'channel' | 'choice'
> &
  Partial<Pick<AttemptRow, 'paymentMethodId'>>

/** Undefined when another request has moved the payment since it was read, or the attempt may not start any more. */
async function recordAttempt(
  app: PaymentsApp,
  payment: PaymentRow,
  start: AttemptStart,
  failovers = 0,
): Promise<PaymentWithAttempt | undefined> {
  const now = app.clock.now()
  const attempt = newAttempt(payment, {
    ...start,
    id: app.random.uuid(),
    number: payment.attemptsUsed + 1,
    startedAt: now,
    dueAt: firstLeaseEnd(app, now),
  })
  const next: PaymentRow = {
    ...plainMove(payment, 'processing'),
    statusReason: 'outcome_unknown',
    gateway: attempt.gateway,
    channel: attempt.channel,
    attemptsUsed: attempt.number,
    failovers: payment.failovers + failovers,
  }
  const moved = await movePayment(app, payment, next, {
    kind: 'attempt_started',
    proof: null,
    source: 'checkout',
    attempt,
  })
  return moved ? { payment: next, attempt } : undefined
}

function requireStartable(app: PaymentsApp, { payment, attempts }: CheckoutView): void {
  const isExpired = payment.expiresAt !== null && payment.expiresAt <= app.clock.now()
  if (payment.status !== 'pending' || isExpired) {
    throw new ApiError('invalid_state', {
      message: isExpired ? 'This checkout has expired.' : `This payment is ${payment.status}.`,
    })
  }
  if (hasUsedAllAttempts(payment)) throw new ApiError('invalid_state')
  // The payer has paid another amount: manual review comes before any further attempt.
  if (attempts.some(({ status }) => status === 'amount_mismatch')) throw new ApiError('invalid_state')
}

/** An early check. The statement of the move checks again, against a concurrent block. */
async function assertCollectable(app: PaymentsApp, { merchantId, customerId }: PaymentRow): Promise<void> {
  if (await app.isSuspended(merchantId)) throw new ApiError('merchant_suspended')
  if (await isBlocked(app, merchantId, customerId)) throw new ApiError('customer_blocked')
}
