// The resolver: asks the gateway for every attempt whose outcome is not known. It never charges again: what a gateway
// does not know is submitted once more under the same key, inside the time for which that gateway keeps keys, or it
// waits for a person.

import { money } from '../core/money.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/log.ts'
import type { PaymentsApp } from './app.ts'
import { type ClaimedAttempt, claimDueAttempts, listAttempts } from './attempt-queries.ts'
import { submitCharge } from './charge.ts'
import { submitCheckout } from './checkout.ts'
import { findPayment } from './queries.ts'
import { scheduleQuestion } from './schedule.ts'
import { type Known, settle } from './settle.ts'
import { closeAttempt } from './settle-queries.ts'
import { methodOf } from './views.ts'

// For our own part of a resolution: a few statements, on a machine that may be busy.
const LEASE_SLACK_MS = 5_000
const BATCH = 50

const HOUR_MS = 3_600_000
// A key is trusted only well inside the time for which the gateway promises to keep it.
const RETENTION_MARGIN = 0.9

/** Claims what is due and resolves it; answers how many attempts that were. */
export async function resolveDueAttempts(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  const claimed = await claimDueAttempts(app.db, now, addMs(now, leaseMs(app)), BATCH)
  await Promise.all(claimed.map((attempt) => resolveClaimed(app, attempt)))
  return claimed.length
}

/** Enough for one question and one submission at their limits; who dies meanwhile gives the attempt back by then. */
function leaseMs(app: PaymentsApp): number {
  return 2 * app.settings.gatewayTimeoutMs + LEASE_SLACK_MS
}

async function resolveClaimed(app: PaymentsApp, claimed: ClaimedAttempt): Promise<void> {
  try {
    const [payment, attempts] = await Promise.all([
      findPayment(app.db, claimed.merchantId, claimed.paymentId),
      listAttempts(app.db, claimed.merchantId, claimed.paymentId),
    ])
    const attempt = attempts.find((one) => one.id === claimed.id)
    if (!payment || !attempt || attempt.dueAt === null) return
    await app.failpoints.pass('resolver.after_claim')
    await resolveAttempt(app, { payment, attempt })
  } catch (error) {
    // The lease runs out and the attempt is claimed again: one that breaks us must not stop the others.
    app.log.error('resolving an attempt failed', { attemptId: claimed.id, ...errorFields(error) })
  }
}

async function resolveAttempt(app: PaymentsApp, known: Known): Promise<void> {
  const { payment, attempt } = known
  const gateway = app.gateways.get(attempt.gateway)
  const asked = { key: attempt.gatewayKey, amount: money(payment.amountMinor, payment.currency) }
  let outcome = await gateway.verify(asked, attempt.gatewayReference)
  if (outcome.kind === 'unknown' && outcome.reason === 'not_found' && attempt.status === 'started') {
    if (!mayResubmit(app, known)) return parkForReview(app, known)
    outcome = await resubmit(app, known)
  }
  await app.failpoints.pass('resolver.after_question')
  const settled = await settle(app, known, outcome, { source: 'resolver' })
  await scheduleQuestion(app, settled, outcome)
}

function mayResubmit(app: PaymentsApp, { attempt }: Known): boolean {
  const { keyRetentionHours } = app.gateways.get(attempt.gateway).recovery
  const trustedUntil = addMs(attempt.startedAt, keyRetentionHours * HOUR_MS * RETENTION_MARGIN)
  return app.clock.now() < trustedUntil
}

async function resubmit(app: PaymentsApp, known: Known): Promise<Outcome> {
  const { payment, attempt } = known
  const gateway = app.gateways.get(attempt.gateway)
  if (attempt.operation === 'checkout') return submitCheckout(app, known)
  const method = await methodOf(app, payment)
  if (!method) throw new Error(`charge ${payment.id} has no saved method`)
  return submitCharge(app, gateway, payment, attempt, method)
}

async function parkForReview(app: PaymentsApp, { payment, attempt }: Known): Promise<void> {
  await closeAttempt(app.db, {
    merchantId: attempt.merchantId,
    attemptId: attempt.id,
    status: 'requires_review',
    failureCode: null,
    failureWords: 'The gateway does not know this attempt, and its keys are no longer kept.',
    paidMinor: null,
    paidCurrency: null,
    gatewayReference: null,
    statusReason: 'requires_review',
    entryId: null,
    postings: [],
    at: app.clock.now(),
  })
  const { merchantId, id: attemptId, gateway } = attempt
  app.log.error('an attempt needs a person', { merchantId, paymentId: payment.id, attemptId, gateway })
}
