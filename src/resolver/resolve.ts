// The resolver: the job that makes each due poll of a gateway about an attempt with an unknown outcome, by the poll
// schedule of src/outcomes/schedule.ts. It never charges twice: an attempt that the gateway does not know is submitted
// again under the same idempotency key while the gateway keeps the key; afterwards it needs manual review. A charge is
// submitted again only while its saved method is active and its customer is not blocked. Where the gateway has no
// idempotency keys (`notResendable`), nothing is submitted again; an attempt that it cannot find in the end never arrived.

import { submitCharge } from '../charges/charge.ts'
import { markAwaitingCustomer, submitCheckout } from '../checkout/submit.ts'
import type { MethodRow } from '../customers/method.ts'
import { statusOf } from '../customers/schema.ts'
import { isBlocked } from '../customers/service.ts'
import type { Gateway, GatewayBehavior, Outcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import { applyOutcome, closeWithCase } from '../outcomes/apply.ts'
import { completeIfReady } from '../outcomes/complete.ts'
import { claimByGateway, type InFlight } from '../outcomes/gateway-bulkhead.ts'
import { reviewUncertain } from '../outcomes/review.ts'
import { isKeyRetained, isLostPageUnpayable, resolverLeaseEnd, schedulePoll } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { referenceOf, toStatusQuery } from '../payments/gateway-request.ts'
import type { ClosedAttempt } from '../payments/update-attempt.ts'
import { chargedMethodOf } from '../payments/views.ts'
import { type ClaimedAttempt, claimDueAttempts } from './queries.ts'

/** Claims due attempts and returns one task for each. */
export function claimResolutions(
  app: PaymentsApp,
  limit: number,
  inFlight: InFlight = new Map(),
): Promise<(() => Promise<void>)[]> {
  const now = app.clock.now()
  return claimByGateway(
    inFlight,
    limit,
    (allowed, saturated) => claimDueAttempts(app.db, now, resolverLeaseEnd(app, now), allowed, saturated),
    (attempt) => resolveClaimed(app, attempt),
  )
}

async function resolveClaimed(app: PaymentsApp, claimed: ClaimedAttempt): Promise<void> {
  try {
    const [payment, attempts] = await Promise.all([
      findPayment(app.db, claimed.merchantId, claimed.paymentId),
      listAttempts(app.db, claimed.merchantId, claimed.paymentId),
    ])
    const attempt = attempts.find((one) => one.id === claimed.id)
    if (!payment || !attempt || attempt.dueAt === null) return
    await app.failpoints.hit('resolver.after_claim')
    await resolveAttempt(app, { payment, attempt })
  } catch (error) {
    // One failing attempt must not stop the others. Its lease ends and it is claimed again.
    app.log.write('attempt.resolve_failed', { attemptId: claimed.id, ...errorFields(error) })
  }
}

async function resolveAttempt(app: PaymentsApp, current: PaymentWithAttempt): Promise<void> {
  const { payment, attempt } = current
  const gateway = await app.gateways.find(attempt.merchantId, attempt.gateway, attempt.accountId)
  // The gateway's credentials were removed: its attempts stay unknown until they are configured again.
  if (!gateway) {
    await reviewUncertain(app, current, NOT_CONFIGURED)
    return schedulePoll(app, current, NOT_CONFIGURED, undefined)
  }
  let outcome = await gateway.verify(toStatusQuery(payment, attempt), referenceOf(attempt))
  let resubmitted: Outcome | undefined
  const isPageLost = isLostPageUnpayable(gateway, attempt)
  const isAbsent = isUnknownToGateway(attempt, outcome) && isProvenAbsent(app, gateway, attempt)
  if (isAbsent) outcome = NEVER_ARRIVED
  else if (isUnknownToGateway(attempt, outcome)) {
    if (needsReview(app, gateway, current)) return markRequiresReview(app, current)
    if (canResubmit(app, gateway, current)) resubmitted = await resubmit(app, gateway, current)
    outcome = resubmitted ?? outcome
  } else if (isSubmissionLost(attempt, outcome) && !outcome.canComplete) {
    outcome = await recoverSubmission(app, gateway, current, outcome)
  }
  const reported = await completeIfReady(app, gateway, current, outcome)
  outcome = reported.outcome
  await app.failpoints.hit('resolver.after_poll')
  const context = { source: 'resolver', firstCall: isAbsent, isPageLost } as const
  const applied = await applyOutcome(app, gateway, reported.current, outcome, context)
  await schedulePoll(app, applied, outcome, gateway.behavior, { isResubmitted: resubmitted !== undefined })
}

const NOT_CONFIGURED: Outcome = { kind: 'unknown', reason: 'no_answer', message: 'not configured' }

/** The gateway does not know the attempt: the submission never arrived, or is still in transit. */
function isUnknownToGateway(attempt: AttemptRow, outcome: Outcome): boolean {
  return attempt.status === 'started' && outcome.kind === 'unknown' && outcome.reason === 'not_found'
}

const HOUR_MS = 3_600_000

const NEVER_ARRIVED: Outcome = {
  kind: 'unknown',
  reason: 'not_sent',
  message: 'The gateway has no record of this attempt, so the request never arrived.',
}

/** The request was sent at most once, and the gateway would know it by now. */
function isProvenAbsent(app: PaymentsApp, { behavior }: Gateway, attempt: AttemptRow): boolean {
  return isBeyondAbsence(app, behavior, attempt) && referenceOf(attempt) === null && attempt.report === null
}

function isBeyondAbsence(
  { clock }: PaymentsApp,
  { notResendable }: GatewayBehavior,
  { startedAt }: AttemptRow,
): boolean {
  const hours = notResendable?.absentAfterHours ?? null
  return hours !== null && clock.now() >= addMs(startedAt, hours * HOUR_MS)
}

/** The gateway does not know the attempt, and nothing will change that. */
function needsReview(app: PaymentsApp, gateway: Gateway, current: PaymentWithAttempt): boolean {
  const { behavior } = gateway
  // It had accepted the attempt before.
  if (behavior.notResendable) return isBeyondAbsence(app, behavior, current.attempt)
  return !canResubmit(app, gateway, current) && !isLostPageUnpayable(gateway, current.attempt)
}

/** The gateway waits for the payer, but its response with the next step got lost. */
function isSubmissionLost(
  attempt: AttemptRow,
  outcome: Outcome,
): outcome is Extract<Outcome, { kind: 'pending' }> {
  return attempt.status === 'started' && attempt.operation === 'checkout' && outcome.kind === 'pending'
}

/** A retry under the same key returns the lost response. Without the key the payer must switch to another method. */
async function recoverSubmission(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
  pending: Extract<Outcome, { kind: 'pending' }>,
): Promise<Outcome> {
  const canRetry = canResubmit(app, gateway, current) && !(await app.isSuspended(current.payment.merchantId))
  if (canRetry) return submitCheckout(app, gateway, current)
  if (isLostPageUnpayable(gateway, current.attempt)) return PAGE_LOST
  await markAwaitingCustomer(app, current, pending, null, gateway.behavior)
  return pending
}

const PAGE_LOST: Outcome = {
  kind: 'unknown',
  reason: 'no_answer',
  message: 'The page of the gateway is lost.',
}

function canResubmit(app: PaymentsApp, gateway: Gateway, { payment, attempt }: PaymentWithAttempt): boolean {
  const now = app.clock.now()
  const isRetained = isKeyRetained(gateway.behavior, attempt.startedAt, now)
  // After the checkout has expired no prompt is sent to a phone, and no saved method is charged that was not charged before.
  const isLate = payment.expiresAt !== null && payment.expiresAt <= now
  const isTooLate = isLate && (attempt.operation === 'charge' || isPrompt(gateway, attempt))
  return isRetained && !isTooLate && !gateway.behavior.notResendable
}

/** By the number that the payer typed, too: the rails of the account may have changed since. */
function isPrompt({ rails }: Gateway, { channel, choice }: AttemptRow): boolean {
  return channel === 'mobile_money' && (choice?.phone !== undefined || rails.some(({ prompts }) => prompts))
}

/** Undefined if the saved method must not be charged any more, or the merchant is suspended. */
async function resubmit(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
): Promise<Outcome | undefined> {
  const { payment, attempt } = current
  if (await app.isSuspended(payment.merchantId)) return undefined
  if (attempt.operation === 'checkout') return submitCheckout(app, gateway, current)
  const method = await chargedMethodOf(app, current)
  if (!method) throw new Error(`charge ${payment.id} has no saved method`)
  if (!(await isChargeable(app, method))) return undefined
  return submitCharge(app, gateway, payment, attempt, method)
}

async function isChargeable(app: PaymentsApp, method: MethodRow): Promise<boolean> {
  const isActive = statusOf(method, app.clock.now()) === 'active'
  return isActive && !(await isBlocked(app, method.merchantId, method.customerId))
}

async function markRequiresReview(app: PaymentsApp, { payment, attempt }: PaymentWithAttempt): Promise<void> {
  const closing: ClosedAttempt = {
    merchantId: attempt.merchantId,
    attemptId: attempt.id,
    status: 'requires_review',
    failureCode: null,
    failureMessage: 'The gateway does not know this attempt, and it is too late to submit it again.',
    paidMinor: null,
    paidCurrency: null,
    gatewayReference: null,
    dueAt: attempt.dueAt,
    nextPollAt: null,
    statusReason: 'requires_review',
    entryId: null,
    postings: [],
    at: app.clock.now(),
  }
  await closeWithCase(app, payment, closing, 'payment_requires_review')
  const { merchantId, id: attemptId, gateway } = attempt
  app.log.write('attempt.needs_review', { merchantId, paymentId: payment.id, attemptId, gateway })
}
