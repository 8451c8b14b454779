// Status checks for a caller that waits: the merchant's verify and the payer's return. At most one per payment and three
// seconds over all processes; concurrent callers of one process share it (single flight).

import type { Outcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import { createSingleFlight } from '../kit/single-flight.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentWithAttempt } from '../payments/attempt.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { gatewayOf, referenceOf, toStatusQuery } from '../payments/gateway-request.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isUnpaid, type MoveSource } from '../payments/states.ts'
import { applyOutcome } from './apply.ts'
import { completeIfReady } from './complete.ts'
import { claimPoll } from './queries.ts'
import { isCompleting, isOpenAttempt, isPolledAfterDecline } from './schedule.ts'

const STATUS_CHECK_WINDOW_MS = 3_000

const shareCheck = createSingleFlight<PaymentRow>()

/** The payment after a status check; as stored if no attempt is open or the gateway does not answer. */
export async function checkStatus(
  app: PaymentsApp,
  payment: PaymentRow,
  source: MoveSource,
): Promise<PaymentRow> {
  if (!isUnpaid(payment.status)) return payment
  return shareCheck(app.db, payment.id, () => checkStatusOnce(app, payment, source))
}

async function checkStatusOnce(
  app: PaymentsApp,
  payment: PaymentRow,
  source: MoveSource,
): Promise<PaymentRow> {
  const { merchantId, id } = payment
  const attempts = await listAttempts(app.db, merchantId, id)
  const attempt = attempts.findLast(isOpenAttempt) ?? attempts.findLast(isPolledAfterDecline)
  const now = app.clock.now()
  if (attempt && (await claimPoll(app.db, attempt, now, addMs(now, -STATUS_CHECK_WINDOW_MS)))) {
    return (await verifyAttempt(app, { payment, attempt }, source)).payment
  }
  // Another caller has checked the status, and may have moved the payment since we read it.
  const stored = (await findPayment(app.db, merchantId, id)) ?? payment
  return source === 'return' && attempt ? awaitConcurrentCheck(app, stored) : stored
}

const AWAIT_TIMEOUT_MS = 1_500
const REREAD_INTERVAL_MS = 150

/** A payer who returns should see the result: waits a moment for the status check that another process is running. */
async function awaitConcurrentCheck(app: PaymentsApp, payment: PaymentRow): Promise<PaymentRow> {
  for (let waitedMs = 0; waitedMs < AWAIT_TIMEOUT_MS; waitedMs += REREAD_INTERVAL_MS) {
    await app.clock.sleep(REREAD_INTERVAL_MS)
    const stored = await findPayment(app.db, payment.merchantId, payment.id)
    if (stored && stored.version !== payment.version) return stored
  }
  return payment
}

/** What a status check found. */
interface Verified extends PaymentWithAttempt {
  /** False if the gateway did not answer. */
  answered: boolean
  /** Null if the connector failed. */
  outcome: Outcome | null
}

/** Checks the status now, without the window, and applies the outcome. */
export async function verifyAttempt(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  source: MoveSource,
): Promise<Verified> {
  const { payment, attempt } = current
  try {
    const gateway = await gatewayOf(app, attempt)
    const reported = await gateway.verify(toStatusQuery(payment, attempt), referenceOf(attempt))
    const { current: latest, outcome } = await completeIfReady(app, gateway, current, reported)
    const applied = await applyOutcome(app, gateway, latest, outcome, { source })
    return { ...applied, answered: isKnown(outcome) && !isCompleting(applied), outcome }
  } catch (error) {
    // An error in a connector is ours, not the caller's: the caller gets the stored payment.
    app.log.write('gateway.status_check_failed', {
      paymentId: payment.id,
      gateway: attempt.gateway,
      ...errorFields(error),
    })
    return { ...current, answered: false, outcome: null }
  }
}

/** `not_found` is an answer too: the gateway has no such attempt in progress. */
function isKnown(outcome: Outcome): boolean {
  return outcome.kind !== 'unknown' || outcome.reason === 'not_found'
}
