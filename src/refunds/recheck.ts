// Rechecks a successful refund after a webhook. It can still fail when the payer's bank rejects it: the money is then back
// at the gateway, and neither the payer nor the merchant has it. A case for manual review is opened.

import { openCase } from '../cases/open.ts'
import type { Gateway, RefundOutcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { jittered } from '../kit/random.ts'
import { isUnrecognized, unknownBackoffMs, unrecognizedBackoffMs } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { saveRecheck } from './queries.ts'
import type { RefundRow } from './refund.ts'
import { checkRefundStatus } from './status-check.ts'

/** Polls the gateway once, and returns the refund as it is stored afterwards. */
export async function recheckRefund(
  app: PaymentsApp,
  gateway: Gateway | undefined,
  refund: RefundRow,
): Promise<RefundRow> {
  const outcome = gateway && (await checkRefundStatus(gateway, refund))
  if (outcome?.kind === 'failed') return recordLateFailure(app, refund, outcome.message)
  const at = app.clock.now()
  const dueAt = outcome && isInconclusive(outcome) ? nextRecheckAt(app, refund, outcome, at) : null
  return (await saveRecheck(app.db, refund, { statusReason: refund.statusReason, dueAt, at })) ?? refund
}

const isInconclusive = ({ kind, ...rest }: RefundOutcome) =>
  kind === 'unknown' && 'reason' in rest && rest.reason !== 'not_found'

// About an hour of retries, longer than most outages. The next webhook starts them again.
const MAX_RECHECKS = 100

function nextRecheckAt(
  app: PaymentsApp,
  { polls, createdAt }: RefundRow,
  outcome: RefundOutcome,
  now: Date,
): Date | null {
  const delayMs = isUnrecognized(outcome) ? unrecognizedBackoffMs(createdAt, now) : unknownBackoffMs(polls)
  return polls >= MAX_RECHECKS ? null : addMs(now, jittered(app.random, delayMs))
}

async function recordLateFailure(app: PaymentsApp, refund: RefundRow, message: string): Promise<RefundRow> {
  const { merchantId, paymentId, attemptId, id: refundId, gateway } = refund
  const saved = await app.db.transaction(async (tx) => {
    const row = await saveRecheck(tx, refund, {
      statusReason: 'failed_late',
      dueAt: null,
      at: app.clock.now(),
    })
    if (!row) return undefined
    await openCase(app, tx, { merchantId, kind: 'refund_failed_late', paymentId, attemptId, refund, message })
    return row
  })
  const facts = { merchantId, paymentId, refundId, gateway, reason: 'failed_late' }
  if (saved) app.log.write('refund.failed_late', facts)
  return saved ?? refund
}
