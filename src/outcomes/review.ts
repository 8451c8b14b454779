// Opens a case where a person must look at an outcome: the gateway uses a word that we do not know, or the payment is
// processing for longer than the limit.

import type { CaseKind } from '../cases/case-kinds.ts'
import { listCasesOfAttempt } from '../cases/find.ts'
import { isUnderReview, openCase } from '../cases/open.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentWithAttempt } from '../payments/attempt.ts'
import { lockPayment } from '../payments/find.ts'
import { isUnrecognized } from './schedule.ts'

/** How long after the expiry of its checkout, or the start of a charge, a payment may be processing without a case. */
export const PROCESSING_LIMIT_MS = 24 * 3_600_000

/** Whether a case was opened for an outcome that has changed nothing. */
export async function reviewUncertain(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  outcome: Outcome,
): Promise<boolean> {
  const kind = reviewKind(current, outcome, app.clock.now())
  if (!kind) return false
  const { merchantId, id: attemptId, paymentId } = current.attempt
  const message = outcome.kind === 'unknown' ? outcome.message : null
  return app.db.transaction(async (tx) => {
    // Under the lock, because the payment may have moved since it was read: then the outcome is known.
    const { version } = await lockPayment(tx, merchantId, paymentId)
    if (version !== current.payment.version) return false
    const cases = await listCasesOfAttempt(tx, merchantId, attemptId)
    const ending = cases.find((one) => one.kind === kind)?.resolution ?? null
    // The gateway had answered meanwhile, and is not understood again. What a person decided stays decided.
    const reopens = ending === 'gateway_answered' || ending === 'ask_again'
    return openCase(app, tx, { merchantId, kind, paymentId, attemptId, message }, { reopens })
  })
}

function reviewKind({ payment, attempt }: PaymentWithAttempt, outcome: Outcome, now: Date): CaseKind | null {
  // About an attempt that was paid, the gateway says something unknown about a dispute.
  if (isUnrecognized(outcome) && attempt.status === 'succeeded') return 'unknown_answer'
  if (payment.status !== 'processing' || attempt.number !== payment.attemptsUsed) return null
  if (isUnderReview(payment)) return null
  if (isUnrecognized(outcome)) return 'unknown_answer'
  const isOverdue = addMs(payment.expiresAt ?? payment.createdAt, PROCESSING_LIMIT_MS) <= now
  return isOverdue && !isSettling(outcome, now) ? 'processing_too_long' : null
}

/** The gateway has the payment, by a method that takes days. */
function isSettling(outcome: Outcome, now: Date): boolean {
  return outcome.kind === 'pending' && outcome.settlesBy !== undefined && now < outcome.settlesBy
}
