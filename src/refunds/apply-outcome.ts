// Applies the final outcome of a refund. One transaction writes the refund, the payment's move, the ledger entry and both
// events. Concurrent outcomes apply once. The lock order refund, payment, balance prevents deadlocks.

import { isMismatch } from '../cases/case-kinds.ts'
import { listCasesOfAttempt } from '../cases/find.ts'
import { type CaseDecision, closeCase, GATEWAY_ANSWERED, openCase } from '../cases/open.ts'
import { money } from '../core/money.ts'
import { sanitizeText } from '../core/sanitize-text.ts'
import { holdingAccount, updateDuplicateRefundTotal } from '../disputes/duplicates.ts'
import { recordEvents } from '../events/service.ts'
import type { RefundOutcome } from '../gateways/gateway.ts'
import type { Tx } from '../kit/db/db.ts'
import { debitMerchant, recordEntry } from '../ledger/debit.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { getPayment, listAttempts } from '../payments/find.ts'
import { methodOf } from '../payments/views.ts'
import { applyRefund, releaseRefund } from './payment-effects.ts'
import { completeRefund, findRefund } from './queries.ts'
import type { RefundRow } from './refund.ts'
import { toRefund } from './schema.ts'

type FinalOutcome = Extract<RefundOutcome, { kind: 'succeeded' | 'failed' }>
type Source = 'api' | 'resolver'

export async function applyRefundOutcome(
  app: PaymentsApp,
  refund: RefundRow,
  outcome: FinalOutcome,
  source: Source,
  /** The resolution of the refund's case, if a person decided the outcome. */
  closing: CaseDecision = GATEWAY_ANSWERED,
): Promise<RefundRow> {
  const method = await methodOf(app, await getPayment(app, refund))
  const completed = await app.db.transaction(async (tx) => {
    const row = await completeRefund(tx, refund, toCompletion(app, outcome))
    if (!row) return undefined
    if (row.status === 'failed') await handleFailure(app, tx, row)
    else if (row.isDuplicate) await recordDuplicateEntry(app, tx, row)
    else {
      const { merchantId, paymentId, amountMinor } = row
      await applyRefund(app, tx, { merchantId, paymentId, amountMinor, source, method })
      await recordRefundEntry(app, tx, row)
    }
    await recordCompletionEvent(app, tx, row)
    if (refund.statusReason === 'requires_review') await closeReview(app, tx, row, closing)
    return row
  })
  if (completed) logCompletion(app, completed, source)
  return completed ?? (await findRefund(app.db, refund.merchantId, refund.id)) ?? refund
}

async function closeReview(
  app: PaymentsApp,
  tx: Tx,
  refund: RefundRow,
  closing: CaseDecision,
): Promise<void> {
  const cases = await listCasesOfAttempt(tx, refund.merchantId, refund.attemptId)
  const reviewed = cases.find(
    ({ kind, refundId }) => kind === 'refund_requires_review' && refundId === refund.id,
  )
  if (reviewed) await closeCase(app, tx, reviewed, closing, refund)
}

function toCompletion(app: PaymentsApp, outcome: FinalOutcome) {
  const { gatewayReference } = outcome
  return {
    status: outcome.kind === 'succeeded' ? ('successful' as const) : ('failed' as const),
    gatewayReference: gatewayReference === null ? null : sanitizeText(gatewayReference),
    failureMessage: outcome.kind === 'failed' ? sanitizeText(outcome.message) : null,
    at: app.clock.now(),
  }
}

/** Releases the reserved amount. A duplicate payment has nothing reserved: a case for manual review is opened. */
async function handleFailure(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  const { merchantId, paymentId, amountMinor, isDuplicate } = refund
  if (isDuplicate) await reportUnreturned(app, tx, refund)
  else await releaseRefund(app, tx, merchantId, paymentId, amountMinor)
}

/** The payer's money is still held: opens a case, or opens the one again whose resolution was to return it. */
async function reportUnreturned(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  const { merchantId, paymentId, attemptId, failureMessage: message } = refund
  const failed = { merchantId, paymentId, attemptId, message }
  const mismatch = (await listCasesOfAttempt(tx, merchantId, attemptId)).find(({ kind }) => isMismatch(kind))
  if (mismatch) await openCase(app, tx, { ...failed, kind: mismatch.kind }, { reopens: true })
  else await openCase(app, tx, { ...failed, kind: 'duplicate_refund_failed', refund })
}

async function recordRefundEntry(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  const { merchantId, paymentId, id: refundId, amountMinor, currency, gateway, updatedAt: at } = refund
  const amount = money(amountMinor, currency)
  const to = `gateway:${gateway}`
  await debitMerchant(app, tx, { merchantId, kind: 'refund', paymentId, refundId, amount, to, at })
}

/** Such money was never credited to the merchant, so the account that holds it is debited. */
async function recordDuplicateEntry(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  const { merchantId, paymentId, attemptId, id: refundId, amountMinor, currency, gateway } = refund
  await updateDuplicateRefundTotal(tx, merchantId, attemptId, amountMinor)
  await recordEntry(app, tx, {
    merchantId,
    kind: 'refund',
    paymentId,
    attemptId,
    refundId,
    currency,
    at: refund.updatedAt,
    lines: [
      [await holdingAccountOf(tx, refund), -amountMinor],
      [`gateway:${gateway}`, amountMinor],
    ],
  })
}

async function holdingAccountOf(tx: Tx, { merchantId, paymentId, attemptId }: RefundRow): Promise<string> {
  const attempts = await listAttempts(tx, merchantId, paymentId)
  const attempt = attempts.find(({ id }) => id === attemptId)
  if (!attempt) throw new Error(`attempt ${attemptId} does not exist`)
  return holdingAccount(attempt)
}

/** Reports the success or failure of a refund. */
export async function recordCompletionEvent(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  await recordEvents(app, tx, app.settings.mode, [
    {
      merchantId: refund.merchantId,
      type: refund.status === 'successful' ? 'refund.successful' : 'refund.failed',
      resource: { type: 'refund', uuid: refund.id, version: refund.version },
      data: toRefund(refund),
    },
  ])
}

function logCompletion(app: PaymentsApp, refund: RefundRow, source: Source): void {
  const { merchantId, paymentId, id: refundId, gateway, status, isDuplicate } = refund
  const facts = { merchantId, paymentId, refundId, gateway, status, reason: source }
  // An event reports the merchant's own refunds. Only the operator can act on the refund of a duplicate payment.
  if (isDuplicate && status === 'failed') app.log.write('duplicate_payment.refund_failed', facts)
  else app.log.write('refund.completed', facts)
}
