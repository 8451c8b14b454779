// Applies the final outcome of a refund. One transaction writes the refund, the payment's move, the ledger entry and both
// events. Concurrent outcomes apply once. The lock order refund, payment, balance prevents deadlocks.

import { money } from '../core/money.ts'
import { sanitizeText } from '../core/sanitize-text.ts'
import { openCase } from '../disputes/cases.ts'
import { updateDuplicateRefundTotal } from '../disputes/duplicates.ts'
import { recordEvents } from '../events/service.ts'
import type { RefundOutcome } from '../gateways/gateway.ts'
import type { Tx } from '../kit/db/db.ts'
import { debitMerchant, recordEntry } from '../ledger/debit.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { getPayment } from '../payments/find.ts'
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
    return row
  })
  if (completed) logCompletion(app, completed, source)
  return completed ?? (await findRefund(app.db, refund.merchantId, refund.id)) ?? refund
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
  const { merchantId, paymentId, attemptId, id: refundId, amountMinor, isDuplicate } = refund
  const kind = 'duplicate_refund_failed'
  if (isDuplicate) await openCase(app, tx, { merchantId, kind, paymentId, attemptId, refundId })
  else await releaseRefund(app, tx, merchantId, paymentId, amountMinor)
}

async function recordRefundEntry(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  const { merchantId, paymentId, id: refundId, amountMinor, currency, gateway, updatedAt: at } = refund
  const amount = money(amountMinor, currency)
  const to = `gateway:${gateway}`
  await debitMerchant(app, tx, { merchantId, kind: 'refund', paymentId, refundId, amount, to, at })
}

/** A duplicate payment was never credited to the merchant, so its own account is debited. */
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
      ['duplicates', -amountMinor],
      [`gateway:${gateway}`, amountMinor],
    ],
  })
}

async function recordCompletionEvent(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
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
