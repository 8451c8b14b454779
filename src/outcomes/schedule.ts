// When the resolver asks a gateway again.

import { DISPUTE_DELAY_MS } from '../disputes/dispute.ts'
import type { Outcome, RecoveryProperties } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { jittered } from '../kit/random.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, Known } from '../payments/attempt.ts'
import { isOpen } from '../payments/states.ts'
import { postponeAttempt } from './queries.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

// Spread by a fifth, and after a call that has waited for its time in vain, it is still less than a minute.
const PATIENT_SECONDS = 35
// For more than an hour, however the spread falls: gateways that are away longer are rare.
const PATIENT_TIMES = 150

/**
 * Nobody knows what happened: ask soon, then so often that a minute after a gateway or a network is back nobody waits any
 * more, later ever more rarely, and never give up by oneself.
 */
const UNKNOWN_DELAYS_MS = [
  ...[1, 2, 5, 15],
  ...Array.from({ length: PATIENT_TIMES }, () => PATIENT_SECONDS),
  ...[300, 900, 3600],
].map((seconds) => seconds * SECOND)

/** How long to wait until the next question about something that nobody knows, after so many. */
export function unknownDelayMs(polls: number): number {
  return UNKNOWN_DELAYS_MS[Math.min(polls, UNKNOWN_DELAYS_MS.length - 1)] ?? HOUR
}

/** The payer is acting: they stand before a page that shows the answer. */
const AWAITING_DELAYS_MS = [2, 3, 5, 10, 15, 30, 60].map((seconds) => seconds * SECOND)

/** The checkout is over and money may still come late. */
const LATE_DELAYS_MS = [MINUTE, 15 * MINUTE, HOUR]

// No rail delivers a prompt or a transfer later than this; a webhook that comes later still makes us look.
const LATE_WATCH_MS = 7 * 24 * HOUR

/** Null when there is nothing left to ask by ourselves. */
export function nextQuestionAt(
  app: PaymentsApp,
  known: Known,
  outcome: Outcome,
  recovery?: RecoveryProperties,
): Date | null {
  const now = app.clock.now()
  if (PAID.includes(known.attempt.status)) return nextLookAt(app, known, outcome)
  const isEnded = !isUnsettled(known.attempt) && (outcome.kind === 'succeeded' || outcome.kind === 'declined')
  if (isEnded) return outcome.kind === 'declined' ? watchAt(app, known, recovery) : null
  if (isOver(known, now) || isSilent(known, outcome, recovery)) return null
  const delays = delaysOf(known, outcome)
  const delayMs = delays[Math.min(known.attempt.polls, delays.length - 1)] ?? HOUR
  return addMs(now, jittered(app.random, delayMs))
}

const PAID: readonly AttemptRow['status'][] = ['succeeded', 'duplicate_success']

/** After a question about money that was collected: a doorbell said that it may have been taken back. */
function nextLookAt(app: PaymentsApp, { payment, attempt }: Known, outcome: Outcome): Date | null {
  const isUnanswered = outcome.kind === 'unknown' && outcome.reason !== 'not_found'
  if (!isUnanswered && !isDisputed(payment, attempt, outcome)) return null
  const delayMs = isUnanswered ? unknownDelayMs(attempt.polls) : DISPUTE_DELAY_MS
  return addMs(app.clock.now(), jittered(app.random, delayMs))
}

/** A payment says so itself; of money that came twice only the gateway does. */
function isDisputed(payment: Known['payment'], attempt: AttemptRow, outcome: Outcome): boolean {
  if (attempt.status === 'succeeded') return payment.status === 'disputed'
  return outcome.kind === 'succeeded' && (outcome.disputes ?? []).some(({ status }) => status === 'open')
}

// A page that outlives our checkout by more than this is not known.
const PAGE_OUTLIVES_MS = HOUR

/** When to look again at a declined attempt whose payer may have tried once more on the gateway's page. */
export function watchAt(
  app: PaymentsApp,
  { payment, attempt }: Known,
  recovery: RecoveryProperties | undefined,
): Date | null {
  if (!recovery?.paysAfterDecline || attempt.operation !== 'checkout' || attempt.nextStep === null)
    return null
  const now = app.clock.now()
  const isOver = addMs(payment.expiresAt ?? payment.createdAt, PAGE_OUTLIVES_MS) <= now
  const delayMs = LATE_DELAYS_MS[Math.min(attempt.polls, LATE_DELAYS_MS.length - 1)] ?? HOUR
  // Also when the payment was paid in another way meanwhile: then this would be paid twice.
  return isOver ? null : addMs(now, jittered(app.random, Math.min(delayMs, WATCH_MS)))
}

// Seldom enough to be no burden, often enough that somebody who paid after all is told within minutes.
const WATCH_MS = 5 * MINUTE

function isOver({ payment, attempt }: Known, now: Date): boolean {
  const isUnderWay = attempt.status === 'awaiting_customer' && isOpen(payment.status)
  if (attempt.status === 'started' || isUnderWay) return false
  return addMs(payment.expiresAt ?? payment.createdAt, LATE_WATCH_MS) <= now
}

/** The gateway has the attempt and rings when there is news, so that there is nothing to ask for until then. */
function isSilent({ attempt }: Known, outcome: Outcome, recovery: RecoveryProperties | undefined): boolean {
  const isTaken = attempt.status === 'awaiting_customer' && outcome.kind === 'pending'
  return isTaken && recovery?.notifiesOnEveryChange === true
}

function delaysOf({ payment, attempt }: Known, outcome: Outcome): number[] {
  if (attempt.status === 'started' || outcome.kind === 'unknown') return UNKNOWN_DELAYS_MS
  return isOpen(payment.status) ? AWAITING_DELAYS_MS : LATE_DELAYS_MS
}

/**
 * After a question or call that did not end the attempt: when to ask next. Also after one about an attempt that was over,
 * when a doorbell made us look and the gateway did not answer.
 */
export async function scheduleQuestion(
  app: PaymentsApp,
  known: Known,
  outcome: Outcome,
  recovery?: RecoveryProperties,
): Promise<void> {
  if (known.attempt.dueAt === null) return
  const { merchantId, id: attemptId, gateway } = known.attempt
  const reason = outcome.kind === 'unknown' ? outcome.reason : undefined
  app.log.info('outcome not known yet', { merchantId, attemptId, gateway, outcome: outcome.kind, reason })
  const reference = outcome.kind === 'pending' ? outcome.gatewayReference : null
  await postponeAttempt(app.db, known.attempt, nextQuestionAt(app, known, outcome, recovery), reference)
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
export function isKeyTrusted({ keyRetentionHours }: RecoveryProperties, since: Date, now: Date): boolean {
  return now < addMs(since, keyRetentionHours * HOUR * RETENTION_MARGIN)
}

export function isUnsettled(attempt: AttemptRow): boolean {
  return attempt.status === 'started' || attempt.status === 'awaiting_customer'
}

/** Declined, and looked at again all the same. */
export function isWatched(attempt: AttemptRow): boolean {
  return attempt.status === 'declined' && attempt.dueAt !== null
}
