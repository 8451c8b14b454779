// The second step of an attempt at a provider that waits for our call after the payer has confirmed. Record, call, apply the
// outcome: the mark that the call was begun is committed before the call. While the mark is set the call is not made again,
// so after an unknown outcome only status checks follow. Outcomes that prove that nothing was executed clear the mark.

import { sanitizeText } from '../core/sanitize-text.ts'
import { openCredential } from '../customers/methods.ts'
import { statusOf } from '../customers/schema.ts'
import type { Gateway, Outcome } from '../gateways/gateway.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { toStatusQuery } from '../payments/gateway-request.ts'
import { chargedMethodOf } from '../payments/views.ts'
import { isNotSubmitted } from './decide.ts'
import { endCompletion, startCompletion } from './queries.ts'
import { completionEnd, firstLeaseEnd, isCompleting } from './schedule.ts'

/** An outcome, and the attempt as it is stored now. */
interface Reported {
  current: PaymentWithAttempt
  outcome: Outcome
}

/** Makes the completing call if the outcome says that the provider waits for it. Otherwise returns the outcome as it is. */
export async function completeIfReady(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
  outcome: Outcome,
): Promise<Reported> {
  const unchanged = { current, outcome }
  const reference = waitingReference(gateway, current.attempt, outcome)
  if (reference === null) return unchanged
  if (current.attempt.completionStartedAt !== null) return stopWaiting(app, gateway, current, outcome)
  const payer = await payerOf(app, current)
  if (!payer || (await app.isSuspended(current.payment.merchantId))) return unchanged
  const now = app.clock.now()
  // One process gets the row; a checkout that has expired or was cancelled is not completed.
  const attempt = await startCompletion(app.db, current.attempt, reference, now, firstLeaseEnd(app, now))
  if (!attempt) return unchanged
  await app.failpoints.hit('completion.after_mark')
  return complete(app, gateway, { ...current, attempt }, reference, payer.credential)
}

/** The provider's id of a payment that it completes when we call; null if it does not wait for us. */
function waitingReference(gateway: Gateway, attempt: AttemptRow, outcome: Outcome): string | null {
  if (!gateway.complete || outcome.kind !== 'pending' || !outcome.canComplete) return null
  // It is stored, as it is sent.
  return outcome.gatewayReference === null ? attempt.gatewayReference : sanitizeText(outcome.gatewayReference)
}

/** The credential for a charge; undefined if the saved method must not be charged any more. */
async function payerOf(
  app: PaymentsApp,
  current: PaymentWithAttempt,
): Promise<{ credential?: string } | undefined> {
  if (current.attempt.operation === 'checkout') return {}
  const method = await chargedMethodOf(app, current)
  if (!method || statusOf(method, app.clock.now()) !== 'active') return undefined
  return { credential: openCredential(app, method) }
}

async function complete(
  app: PaymentsApp,
  gateway: Gateway,
  { payment, attempt, ...rest }: PaymentWithAttempt,
  reference: string,
  credential: string | undefined,
): Promise<Reported> {
  if (!gateway.complete) throw new Error(`${gateway.name} completes nothing`)
  const outcome = await gateway.complete(toStatusQuery(payment, attempt), reference, credential)
  await app.failpoints.hit('completion.after_call')
  if (!provesNothingExecuted(outcome)) {
    const statusReason = payment.statusReason === 'needs_review' ? 'needs_review' : 'outcome_unknown'
    return { current: { ...rest, payment: { ...payment, statusReason }, attempt }, outcome }
  }
  await endCompletion(app.db, attempt, { isRepeatable: true })
  return { current: { ...rest, payment, attempt: { ...attempt, completionStartedAt: null } }, outcome }
}

function provesNothingExecuted(outcome: Outcome): boolean {
  if (outcome.kind === 'unknown' && outcome.unsent) return true
  return isNotSubmitted(outcome) || (outcome.kind === 'pending' && outcome.canComplete === true)
}

/**
 * The provider still waits, although our call was made and is over there too. The call is not repeated, because it may arrive
 * late. The payer may switch to another method, and the checkout may expire.
 */
async function stopWaiting(
  app: PaymentsApp,
  { behavior }: Gateway,
  current: PaymentWithAttempt,
  outcome: Outcome,
): Promise<Reported> {
  const { payment, attempt } = current
  const startedAt = attempt.completionStartedAt
  const isOver = startedAt !== null && completionEnd(app, behavior, startedAt) <= app.clock.now()
  if (!isOver || !isCompleting(current) || attempt.operation !== 'checkout') return { current, outcome }
  await endCompletion(app.db, attempt, { isRepeatable: false })
  return { current: { ...current, payment: { ...payment, statusReason: 'awaiting_customer' } }, outcome }
}
