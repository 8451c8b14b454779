// Asking a gateway what became of an attempt, on behalf of somebody who waits for the answer: the merchant's verify, the
// payer's return. At most once per three seconds per payment over all processes; parallel callers share one question.

import type { Outcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/log.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { Known } from '../payments/attempt.ts'
import { listAttempts } from '../payments/attempt-queries.ts'
import { gatewayOf, toQuestion } from '../payments/gateway-request.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { findPayment } from '../payments/queries.ts'
import { isUnpaid, type MoveSource } from '../payments/states.ts'
import { settle } from './apply.ts'
import { claimQuestion } from './queries.ts'
import { isUnsettled, isWatched } from './schedule.ts'

const QUESTION_WINDOW_MS = 3_000

const questions = new WeakMap<PaymentsApp['db'], Map<string, Promise<PaymentRow>>>()

/** The payment after its gateway was asked, or as it is stored when there is nothing to ask or nobody to answer. */
export async function askAbout(
  app: PaymentsApp,
  payment: PaymentRow,
  source: MoveSource,
): Promise<PaymentRow> {
  if (!isUnpaid(payment.status)) return payment
  const underWay = questions.get(app.db) ?? new Map<string, Promise<PaymentRow>>()
  questions.set(app.db, underWay)
  const running = underWay.get(payment.id)
  if (running) return running
  const question = askOnce(app, payment, source).finally(() => underWay.delete(payment.id))
  underWay.set(payment.id, question)
  return question
}

async function askOnce(app: PaymentsApp, payment: PaymentRow, source: MoveSource): Promise<PaymentRow> {
  const { merchantId, id } = payment
  const attempts = await listAttempts(app.db, merchantId, id)
  const attempt = attempts.findLast(isUnsettled) ?? attempts.findLast(isWatched)
  const now = app.clock.now()
  if (attempt && (await claimQuestion(app.db, attempt, now, addMs(now, -QUESTION_WINDOW_MS)))) {
    return (await verifyAttempt(app, { payment, attempt }, source)).payment
  }
  // Somebody else asked, and may have settled it since we looked.
  const stored = (await findPayment(app.db, merchantId, id)) ?? payment
  return source === 'return' && attempt ? awaitAnswer(app, stored) : stored
}

const PATIENCE_MS = 1_500
const LOOK_EVERY_MS = 150

/** A payer who comes back should see the end: whoever is asking the gateway at this moment is given time to settle it. */
async function awaitAnswer(app: PaymentsApp, payment: PaymentRow): Promise<PaymentRow> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += LOOK_EVERY_MS) {
    await app.clock.sleep(LOOK_EVERY_MS)
    const stored = await findPayment(app.db, payment.merchantId, payment.id)
    if (stored && stored.version !== payment.version) return stored
  }
  return payment
}

/** Asks now, whatever was asked before, and settles what the gateway says; `answered` when it said anything at all. */
export async function verifyAttempt(
  app: PaymentsApp,
  known: Known,
  source: MoveSource,
): Promise<Known & { answered: boolean }> {
  const { payment, attempt } = known
  try {
    const gateway = await gatewayOf(app, attempt)
    const outcome = await gateway.verify(toQuestion(payment, attempt), attempt.gatewayReference)
    return { ...(await settle(app, known, outcome, { source })), answered: isAnswer(outcome) }
  } catch (error) {
    // A connector that breaks is our own fault, not the caller's: they get what is stored.
    app.log.error('asking the gateway failed', {
      paymentId: payment.id,
      gateway: attempt.gateway,
      ...errorFields(error),
    })
    return { ...known, answered: false }
  }
}

/** A gateway that no longer knows an attempt has said something too: nothing is under way there. */
function isAnswer(outcome: Outcome): boolean {
  return outcome.kind !== 'unknown' || outcome.reason === 'not_found'
}
