// When the resolver asks a gateway again.

import { DISPUTE_POLL_DELAY_MS } from '../disputes/apply-dispute.ts'
import type { Outcome, RecoveryProperties } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { jittered } from '../kit/random.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { isOpen } from '../payments/states.ts'
import { rescheduleAttempt } from './queries.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

// Spread by a fifth, and after a call that has waited for its time in vain, it is still less than a minute.
const STEADY_POLL_SECONDS = 35
// For more than an hour, however the spread falls: gateways that are away longer are rare.
const STEADY_POLLS = 150

/**
 * Nobody knows what happened: ask soon, then so often that a minute after a gateway or a network is back nobody waits any
 * more, later ever more rarely, and never give up by oneself.
 */
const UNKNOWN_BACKOFF_MS = [
  ...[1, 2, 5, 15],
  ...Array.from({ length: STEADY_POLLS }, () => STEADY_POLL_SECONDS),
  ...[300, 900, 3600],
].map((seconds) => seconds * SECOND)

/** How long to wait until the next question about something that nobody knows, after so many. */
export function unknownBackoffMs(polls: number): number {
  return UNKNOWN_BACKOFF_MS[Math.min(polls, UNKNOWN_BACKOFF_MS.length - 1)] ?? HOUR
}

/** The payer is acting: they stand before a page that shows the answer. */
const AWAITING_BACKOFF_MS = [2, 3, 5, 10, 15, 30, 60].map((seconds) => seconds * SECOND)

/** The checkout is over and money may still come late. */
const LATE_BACKOFF_MS = [MINUTE, 15 * MINUTE, HOUR]

// No rail delivers a prompt or a transfer later than this; a webhook that comes later still makes us look.
const LATE_POLLING_MS = 7 * 24 * HOUR

/** Null when there is nothing left to ask by ourselves. */
export function nextPollAt(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  outcome: Outcome,
  recovery: RecoveryProperties | undefined,
): Date | null {
  const now = app.clock.now()
  if (PAID.includes(current.attempt.status)) return nextPaidPollAt(app, current, outcome)
  const isEnded =
    !isOpenAttempt(current.attempt) && (outcome.kind === 'succeeded' || outcome.kind === 'declined')
  if (isEnded) return outcome.kind === 'declined' ? declinedPollAt(app, current, recovery) : null
  if (isPollingOver(current, now) || isWebhookExpected(current, outcome, recovery)) return null
  const backoff = backoffOf(current, outcome)
  const delayMs = backoff[Math.min(current.attempt.polls, backoff.length - 1)] ?? HOUR
  return addMs(now, jittered(app.random, delayMs))
}

const PAID: readonly AttemptRow['status'][] = ['succeeded', 'duplicate_success']

/** After a question about money that was collected: a doorbell said that it may have been taken back. */
function nextPaidPollAt(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  outcome: Outcome,
): Date | null {
  const isUnanswered = outcome.kind === 'unknown' && outcome.reason !== 'not_found'
  if (!isUnanswered && !isDisputed(payment, attempt, outcome)) return null
  const delayMs = isUnanswered ? unknownBackoffMs(attempt.polls) : DISPUTE_POLL_DELAY_MS
  return addMs(app.clock.now(), jittered(app.random, delayMs))
}

/** A payment says so itself; of money that came twice only the gateway does. */
function isDisputed(payment: PaymentWithAttempt['payment'], attempt: AttemptRow, outcome: Outcome): boolean {
  if (attempt.status === 'succeeded') return payment.status === 'disputed'
  return outcome.kind === 'succeeded' && (outcome.disputes ?? []).some(({ status }) => status === 'open')
}

// A page that outlives our checkout by more than this is not known.
const PAGE_EXPIRY_MARGIN_MS = HOUR

/** When to look again at a declined attempt whose payer may have tried once more on the gateway's page. */
export function declinedPollAt(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  recovery: RecoveryProperties | undefined,
): Date | null {
  if (!recovery?.paysAfterDecline || attempt.operation !== 'checkout' || attempt.nextStep === null)
    return null
  const now = app.clock.now()
  const isOver = addMs(payment.expiresAt ?? payment.createdAt, PAGE_EXPIRY_MARGIN_MS) <= now
  const delayMs = LATE_BACKOFF_MS[Math.min(attempt.polls, LATE_BACKOFF_MS.length - 1)] ?? HOUR
  // Also when the payment was paid in another way meanwhile: then this would be paid twice.
  return isOver ? null : addMs(now, jittered(app.random, Math.min(delayMs, MAX_DECLINED_POLL_DELAY_MS)))
}

// Seldom enough to be no burden, often enough that somebody who paid after all is told within minutes.
const MAX_DECLINED_POLL_DELAY_MS = 5 * MINUTE

function isPollingOver({ payment, attempt }: PaymentWithAttempt, now: Date): boolean {
  const isAwaitingCustomer = attempt.status === 'awaiting_customer' && isOpen(payment.status)
  if (attempt.status === 'started' || isAwaitingCustomer) return false
  return addMs(payment.expiresAt ?? payment.createdAt, LATE_POLLING_MS) <= now
}

/** The gateway has the attempt and rings when there is news, so that there is nothing to ask for until then. */
function isWebhookExpected(
  { attempt }: PaymentWithAttempt,
  outcome: Outcome,
  recovery: RecoveryProperties | undefined,
): boolean {
  const isAccepted = attempt.status === 'awaiting_customer' && outcome.kind === 'pending'
  return isAccepted && recovery?.notifiesOnEveryChange === true
}

function backoffOf({ payment, attempt }: PaymentWithAttempt, outcome: Outcome): number[] {
  if (attempt.status === 'started' || outcome.kind === 'unknown') return UNKNOWN_BACKOFF_MS
  return isOpen(payment.status) ? AWAITING_BACKOFF_MS : LATE_BACKOFF_MS
}

/**
 * After a question or call that did not end the attempt: when to ask next. Also after one about an attempt that was over,
 * when a doorbell made us look and the gateway did not answer.
 */
export async function schedulePoll(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  outcome: Outcome,
  recovery: RecoveryProperties | undefined,
): Promise<void> {
  if (current.attempt.dueAt === null) return
  const { merchantId, id: attemptId, gateway } = current.attempt
  const reason = outcome.kind === 'unknown' ? outcome.reason : undefined
  app.log.write('payment.outcome_unknown', { merchantId, attemptId, gateway, outcome: outcome.kind, reason })
  const reference = outcome.kind === 'pending' ? outcome.gatewayReference : null
  await rescheduleAttempt(app.db, current.attempt, nextPollAt(app, current, outcome, recovery), reference)
}

// The longest call and some slack: the resolver must not ask while the first call may still be under way.
const LEASE_SLACK_MS = 2 * SECOND

/** When the resolver may look at an attempt that starts now. */
export function firstLeaseEnd(app: Pick<PaymentsApp, 'settings'>, now: Date): Date {
  return addMs(now, app.settings.gatewayTimeoutMs + LEASE_SLACK_MS)
}

/** Enough for one question and one submission at their limits; who dies meanwhile gives back by then what it claimed. */
export function resolverLeaseEnd(app: Pick<PaymentsApp, 'settings'>, now: Date): Date {
  return addMs(now, 2 * app.settings.gatewayTimeoutMs + RESOLVER_SLACK_MS)
}

// For our own part of a resolution: a few statements, on a machine that may be busy.
const RESOLVER_SLACK_MS = 5 * SECOND

// A key is trusted only well inside the time for which the gateway promises to keep it.
const RETENTION_MARGIN = 0.9

/** Whether what was first submitted then may still be submitted under the same key. */
export function isKeyRetained({ keyRetentionHours }: RecoveryProperties, since: Date, now: Date): boolean {
  return now < addMs(since, keyRetentionHours * HOUR * RETENTION_MARGIN)
}

export function isOpenAttempt(attempt: AttemptRow): boolean {
  return attempt.status === 'started' || attempt.status === 'awaiting_customer'
}

/** Declined, and looked at again all the same. */
export function isPolledAfterDecline(attempt: AttemptRow): boolean {
  return attempt.status === 'declined' && attempt.dueAt !== null
}
