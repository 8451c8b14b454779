// The poll schedule: when the resolver makes the next poll of a gateway, with which backoff, and how long a lease lasts.

import { DISPUTE_POLL_DELAY_MS } from '../disputes/apply-dispute.ts'
import type { Gateway, GatewayBehavior, Outcome, RefundOutcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { jittered } from '../kit/random.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { isOpen } from '../payments/states.ts'
import { rescheduleAttempt } from './queries.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

// With the jitter of a fifth and the timeout of a call, polls are still less than a minute apart.
const STEADY_POLL_SECONDS = 35
// More than an hour, whatever the jitter: longer gateway outages are rare.
const STEADY_POLLS = 150

/**
 * Backoff for an unknown outcome: poll soon, then so often that outcomes are known within a minute after an outage, then
 * ever more rarely. Polling does not end by itself.
 */
const UNKNOWN_BACKOFF_MS = [
  ...[1, 2, 5, 15],
  ...Array.from({ length: STEADY_POLLS }, () => STEADY_POLL_SECONDS),
  ...[300, 900, 3600],
].map((seconds) => seconds * SECOND)

/** The delay before the next poll of an unknown outcome, after this many polls. */
export function unknownBackoffMs(polls: number): number {
  return UNKNOWN_BACKOFF_MS[Math.min(polls, UNKNOWN_BACKOFF_MS.length - 1)] ?? HOUR
}

// With the longest wait before the call, its timeout and the jitter it is less than a minute since the gateway is back.
const RESUBMITTED_POLL_MS = 5 * SECOND

/**
 * The delay after a call that was submitted again without an answer. The gateway has it now, so its outcome is known soon.
 * A call that gets no answer for an hour is submitted ever more rarely.
 */
export function resubmittedBackoffMs(polls: number): number {
  const backoffMs = unknownBackoffMs(polls)
  return backoffMs > STEADY_POLL_SECONDS * SECOND ? backoffMs : Math.min(backoffMs, RESUBMITTED_POLL_MS)
}

/** Backoff while the payer acts, in front of a page that shows the result. */
const AWAITING_BACKOFF_MS = [2, 3, 5, 10, 15, 30, 60].map((seconds) => seconds * SECOND)

/** Backoff after the end of the checkout, when a late payment may still arrive. */
const LATE_BACKOFF_MS = [MINUTE, 15 * MINUTE, HOUR]

// No rail completes a prompt or a transfer later than this. A webhook that arrives later still triggers a poll.
const LATE_POLLING_MS = 7 * 24 * HOUR

/** A value that we do not know seldom changes soon, so the delay is the age of the request, up to a day. */
export function unrecognizedBackoffMs(since: Date, now: Date): number {
  return Math.min(Math.max(now.getTime() - since.getTime(), MINUTE), 24 * HOUR)
}

/** The gateway works, but its answer has a value that we do not know. */
export function isUnrecognized(outcome: Outcome | RefundOutcome): boolean {
  return outcome.kind === 'unknown' && outcome.reason === 'unrecognized'
}

/** When to poll next; null when only a webhook can bring a change. */
export function nextPollAt(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  outcome: Outcome,
  behavior: GatewayBehavior | undefined,
): Date | null {
  const now = app.clock.now()
  if (PAID.includes(current.attempt.status)) return nextPaidPollAt(app, current, outcome)
  const isEnded =
    !isOpenAttempt(current.attempt) && (outcome.kind === 'succeeded' || outcome.kind === 'declined')
  if (isEnded) return outcome.kind === 'declined' ? declinedPollAt(app, current, behavior) : null
  if (isPageLost(current.attempt, behavior)) return openPagePollAt(app, current)
  // Its limit is later than the end of polling, and a poll opens the case.
  const isSettling = outcome.kind === 'pending' && outcome.settlesBy !== undefined
  const isOver = isPollingOver(current, now) && !isSettling
  if (isOver || isWebhookExpected(current, outcome, behavior)) return null
  return addMs(now, jittered(app.random, pollDelayMs(current, outcome, now)))
}

const PAID: readonly AttemptRow['status'][] = ['succeeded', 'duplicate_success']

/** The next poll of a paid attempt. It is polled because of a dispute, or because its method is not saved yet. */
function nextPaidPollAt(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  outcome: Outcome,
): Date | null {
  const isUnanswered = outcome.kind === 'unknown' && outcome.reason !== 'not_found'
  if (isMethodPending(outcome)) return methodPollAt(app, attempt)
  if (!isUnanswered && !isDisputed(payment, attempt, outcome)) return null
  const now = app.clock.now()
  const delayMs = isUnanswered ? pollDelayMs({ payment, attempt }, outcome, now) : DISPUTE_POLL_DELAY_MS
  return addMs(now, jittered(app.random, delayMs))
}

export function isMethodPending(outcome: Outcome): boolean {
  return outcome.kind === 'succeeded' && outcome.isMethodPending === true
}

/** When to ask again whether the method of a paid attempt can be charged again; the connector ends it. */
export function methodPollAt(app: PaymentsApp, { startedAt }: AttemptRow): Date {
  const now = app.clock.now()
  return addMs(now, jittered(app.random, unrecognizedBackoffMs(startedAt, now)))
}

/** The payment's status shows it; for a duplicate payment only the gateway's report does. */
function isDisputed(payment: PaymentWithAttempt['payment'], attempt: AttemptRow, outcome: Outcome): boolean {
  if (attempt.status === 'succeeded') return payment.status === 'disputed'
  return outcome.kind === 'succeeded' && (outcome.disputes ?? []).some(({ status }) => status === 'open')
}

// No gateway keeps its page open for longer than this after our checkout has ended.
const PAGE_EXPIRY_MARGIN_MS = HOUR

/** When to poll a declined attempt whose payer may retry on the gateway's page. */
export function declinedPollAt(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  behavior: GatewayBehavior | undefined,
): Date | null {
  const canRetry = attempt.operation === 'checkout' && attempt.nextStep !== null
  return behavior?.paysAfterDecline && canRetry ? openPagePollAt(app, { payment, attempt }) : null
}

/**
 * When to poll a page that is open at the gateway although its attempt has ended, also one whose URL was lost. Also when
 * another attempt has paid the payment: a success of this one would be a duplicate payment.
 */
export function openPagePollAt(app: PaymentsApp, { payment, attempt }: PaymentWithAttempt): Date | null {
  const now = app.clock.now()
  const isOver = addMs(payment.expiresAt ?? payment.createdAt, PAGE_EXPIRY_MARGIN_MS) <= now
  const delayMs = LATE_BACKOFF_MS[Math.min(attempt.polls, LATE_BACKOFF_MS.length - 1)] ?? HOUR
  return isOver ? null : addMs(now, jittered(app.random, Math.min(delayMs, MAX_DECLINED_POLL_DELAY_MS)))
}

// Rare enough to cause little load, frequent enough to find a payment after a decline within minutes.
const MAX_DECLINED_POLL_DELAY_MS = 5 * MINUTE

/**
 * Whether a new attempt is safe as long as we have not stored the URL of the page: the payer gets it from us alone. A prompt
 * on the phone reaches the payer without us.
 */
export function isLostPageUnpayable(
  { behavior, rails }: Pick<Gateway, 'behavior' | 'rails'>,
  { operation, choice }: AttemptRow,
): boolean {
  const isOnPage = rails.some(({ pageNetworks }) => pageNetworks?.includes(choice?.network ?? ''))
  // Without prompts, the number is one that the provider's page needs.
  const isPrompt = choice?.phone !== undefined && !isOnPage && rails.some(({ prompts }) => prompts)
  return behavior.lostPageIsUnpayable === true && operation === 'checkout' && !isPrompt
}

/** It was declined because the response with the URL of its page was lost. */
function isPageLost(attempt: AttemptRow, behavior: GatewayBehavior | undefined): boolean {
  const { status, operation, nextStep, failureCode } = attempt
  const isUnavailable = status === 'declined' && failureCode === 'provider_unavailable'
  return (
    isUnavailable && operation === 'checkout' && nextStep === null && behavior?.lostPageIsUnpayable === true
  )
}

function isPollingOver({ payment, attempt }: PaymentWithAttempt, now: Date): boolean {
  const isAwaitingCustomer = attempt.status === 'awaiting_customer' && isOpen(payment.status)
  if (attempt.status === 'started' || isAwaitingCustomer) return false
  return addMs(payment.expiresAt ?? payment.createdAt, LATE_POLLING_MS) <= now
}

/** The gateway has the attempt and sends a webhook for every change, so there is no need to poll. */
function isWebhookExpected(
  { attempt }: PaymentWithAttempt,
  outcome: Outcome,
  behavior: GatewayBehavior | undefined,
): boolean {
  const isAccepted = attempt.status === 'awaiting_customer' && outcome.kind === 'pending'
  return isAccepted && behavior?.notifiesOnEveryChange === true
}

function pollDelayMs(current: PaymentWithAttempt, outcome: Outcome, now: Date): number {
  const { attempt } = current
  if (isUnrecognized(outcome)) return unrecognizedBackoffMs(attempt.startedAt, now)
  const backoff = backoffOf(current, outcome)
  return backoff[Math.min(attempt.polls, backoff.length - 1)] ?? HOUR
}

function backoffOf({ payment, attempt }: PaymentWithAttempt, outcome: Outcome): number[] {
  const isUnknown = attempt.status === 'started' || outcome.kind === 'unknown'
  if (isUnknown || isCompleting({ payment, attempt })) return UNKNOWN_BACKOFF_MS
  return isOpen(payment.status) ? AWAITING_BACKOFF_MS : LATE_BACKOFF_MS
}

/**
 * Schedules the next poll after a call or status check that did not end the attempt. Also after the status check of an ended
 * attempt that a webhook triggered and the gateway did not answer.
 */
export async function schedulePoll(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  outcome: Outcome,
  behavior: GatewayBehavior | undefined,
  { isResubmitted = false } = {},
): Promise<void> {
  if (current.attempt.dueAt === null) return
  logOutcome(app, current.attempt, outcome)
  const isNewCall = isResubmitted && outcome.kind === 'unknown' && outcome.reason === 'no_answer'
  const pollAt = isNewCall
    ? addMs(app.clock.now(), jittered(app.random, resubmittedBackoffMs(current.attempt.polls)))
    : nextPollAt(app, current, outcome, behavior)
  const isPending = outcome.kind === 'pending'
  await rescheduleAttempt(app.db, current.attempt, pollAt, {
    gatewayReference: isPending ? outcome.gatewayReference : null,
    settlesBy: (isPending ? outcome.settlesBy : null) ?? null,
  })
}

function logOutcome({ log }: PaymentsApp, attempt: AttemptRow, outcome: Outcome): void {
  const { merchantId, paymentId, id: attemptId, gateway } = attempt
  const fields = { merchantId, paymentId, attemptId, gateway }
  if (outcome.kind !== 'unknown') log.write('attempt.unchanged', { ...fields, outcome: outcome.kind })
  else if (isUnrecognized(outcome))
    log.write('gateway.answer_unrecognized', { ...fields, reason: outcome.message })
  else log.write('attempt.outcome_unknown', { ...fields, reason: outcome.reason })
}

// The resolver must not poll while the first call may still run: the lease is the call's timeout plus this.
const LEASE_SLACK_MS = 2 * SECOND

/** When the resolver may claim an attempt that starts now. */
export function firstLeaseEnd(app: Pick<PaymentsApp, 'settings'>, now: Date): Date {
  return addMs(now, app.settings.gatewayTimeoutMs + LEASE_SLACK_MS)
}

// Providers end their own calls after half a minute or a minute.
const COMPLETES_WITHIN_MS = 5 * MINUTE

/**
 * When a completing call that began at `startedAt` is over at the provider as well. It runs there after our timeout, and the
 * status is still that of a payment that can be completed.
 */
export function completionEnd(
  app: Pick<PaymentsApp, 'settings'>,
  { completesWithinMs = COMPLETES_WITHIN_MS }: GatewayBehavior,
  startedAt: Date,
): Date {
  return addMs(firstLeaseEnd(app, startedAt), completesWithinMs)
}

/** Long enough for one status check and one submission. If the process dies, the attempt can be claimed again then. */
export function resolverLeaseEnd(app: Pick<PaymentsApp, 'settings'>, now: Date): Date {
  return addMs(now, 2 * app.settings.gatewayTimeoutMs + RESOLVER_SLACK_MS)
}

// For the few statements of a resolution, on a machine that may be busy.
const RESOLVER_SLACK_MS = 5 * SECOND

// An idempotency key is used only well within the time for which the gateway keeps it.
const RETENTION_MARGIN = 0.9

/** Whether a request that was first submitted at `since` may be retried under the same idempotency key. */
export function isKeyRetained({ keyRetentionHours }: GatewayBehavior, since: Date, now: Date): boolean {
  return now < addMs(since, keyRetentionHours * HOUR * RETENTION_MARGIN)
}

/** The completing call was begun, and it is not known whether it moved the money. */
export function isCompleting({ payment, attempt }: Pick<PaymentWithAttempt, 'payment' | 'attempt'>): boolean {
  return attempt.completionStartedAt !== null && payment.statusReason === 'outcome_unknown'
}

export function isOpenAttempt(attempt: AttemptRow): boolean {
  return attempt.status === 'started' || attempt.status === 'awaiting_customer'
}

/** Declined, and still polled, because the payer may retry on the gateway's page. */
export function isPolledAfterDecline(attempt: AttemptRow): boolean {
  return attempt.status === 'declined' && attempt.dueAt !== null
}
