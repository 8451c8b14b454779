// The effects of resolutions on refunds: one whose outcome is unknown, one that failed after its success, and one at the
// provider that could not be booked.

import type { CaseDetails } from '../cases/case.ts'
import type { Resolution } from '../cases/case-kinds.ts'
import { type CaseDecision, closeCase } from '../cases/open.ts'
import { ApiError } from '../core/errors.ts'
import { money } from '../core/money.ts'
import { namesOperator } from '../core/text/operator-names.ts'
import type { Tx } from '../kit/db/db.ts'
import { debitMerchant, recordEntry } from '../ledger/debit.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { advanceRefund } from '../refunds/advance.ts'
import { applyRefundOutcome } from '../refunds/apply-outcome.ts'
import { findGatewayRefunds } from '../refunds/find.ts'
import { creditBack, markReturnedElsewhere, writeOffLateFailure } from '../refunds/recheck.ts'
import type { RefundRow } from '../refunds/refund.ts'
import { decisionOf } from './approval.ts'
import type { Subject } from './effects.ts'
import type { Actor, ResolutionRequest } from './request.ts'
import { answerAbout, recordStep } from './steps.ts'

/** A pending refund: the person's proof, or the gateway's answer, ends it and closes the case. */
export async function resolvePendingRefund(
  app: PaymentsApp,
  actor: Actor,
  row: CaseDetails['row'],
  refund: RefundRow,
  request: ResolutionRequest,
): Promise<void> {
  const { resolution, note, proof } = request
  if (resolution === 'ask_again') {
    const createdAt = app.clock.now()
    const answer = answerAbout(await advanceRefund(app, refund, 'api'))
    await recordStep(app, app.db, row, { kind: 'asked', actor: actor.by, note, createdAt, ...answer })
    return
  }
  const outcome =
    resolution === 'return'
      ? ({ kind: 'succeeded', gatewayReference: proof ?? '' } as const)
      : ({ kind: 'failed', message: failureOf(actor, note), gatewayReference: proof } as const)
  await applyRefundOutcome(app, refund, outcome, 'api', decisionOf(actor, request))
  // The provider may have executed it, or may still do so.
  const { gateway, accountId, attemptKey: key } = refund
  if (resolution === 'mark_failed') await app.wakeRefunds({ gateway, accountId, key, isRefund: true })
}

/** The refund has this message, and merchants see it: what an operator wrote is for operators. */
const failureOf = ({ by }: Actor, note: string) =>
  namesOperator(by) ? 'An operator marked it as failed: the provider’s records show no refund.' : note

/** A refund that failed after its success: its money is at the gateway again, and this says whose it is. */
export async function resolveFailedRefund(
  app: PaymentsApp,
  tx: Tx,
  row: CaseDetails['row'],
  refund: RefundRow,
  decision: CaseDecision,
): Promise<void> {
  const { resolution } = decision
  if (resolution === 'accept') await creditBack(app, tx, refund, row.providerMessage)
  else if (resolution === 'return') await markReturnedElsewhere(app, tx, refund)
  else if (resolution === 'write_off') await writeOffLateFailure(app, tx, refund)
  else return
  await closeCase(app, tx, row, decision, refund)
}

/**
 * A refund at the provider that exceeds the payment has taken money from the gateway: from the merchant's wallet, or as a
 * loss of the instance. Nothing is booked if its amount is not known.
 */
export async function bookUnbookedRefund(
  app: PaymentsApp,
  tx: Tx,
  { row, payment, attempt }: Subject,
  resolution: Resolution,
): Promise<void> {
  const { unbookedMinor: minor } = row
  const { merchantId, paymentId, id: attemptId, gateway } = attempt
  const { currency } = payment
  const isAccepted = resolution === 'accept'
  if (minor === null) return
  await requireUnbooked(tx, attempt, row.unbookedReferences)
  const facts = { merchantId, paymentId, refundId: null, at: app.clock.now() }
  const to = `gateway:${gateway}`
  if (isAccepted) {
    await debitMerchant(app, tx, { ...facts, kind: 'reversal', amount: money(minor, currency), to })
    return
  }
  const lines: [string, bigint][] = [
    ['written_off', -minor],
    [to, minor],
  ]
  await recordEntry(app, tx, { ...facts, kind: 'write_off', attemptId, currency, lines })
}

/** A refund may become bookable after its case was opened, such as when another one fails. */
async function requireUnbooked(
  tx: Tx,
  { merchantId, gateway, accountId }: AttemptRow,
  references: readonly string[],
): Promise<void> {
  const account = { gateway, merchantId: accountId === null ? null : merchantId }
  const records = await findGatewayRefunds(tx, account, [], references)
  // One that failed here has booked nothing.
  if (records.every(({ status }) => status === 'failed')) return
  const message =
    'A refund of this case was booked meanwhile. The next look through the account, within 15 minutes, updates the case.'
  throw new ApiError('resolution_not_possible', { message })
}
