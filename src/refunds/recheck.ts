// Rechecks a successful refund after a webhook. It can still fail when the payer's bank rejects it: the money is then back
// at the gateway, and neither the payer nor the merchant has it. A case for manual review is opened, and its resolution says
// who gets the money.

import { openCase } from '../cases/open.ts'
import type { Gateway, RefundOutcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import { jittered } from '../kit/random.ts'
import { recordEntry } from '../ledger/debit.ts'
import { isUnrecognized, unknownBackoffMs, unrecognizedBackoffMs } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { recordCompletionEvent } from './apply-outcome.ts'
import { takeBackRefund, writeOffRefund } from './payment-effects.ts'
import { failLate, saveLateReason, saveRecheck } from './queries.ts'
import type { RefundRow } from './refund.ts'
import { checkRefundStatus } from './status-check.ts'

/** Polls the gateway once, and returns the refund as it is stored afterwards. */
export async function recheckRefund(
  app: PaymentsApp,
  gateway: Gateway | undefined,
  refund: RefundRow,
): Promise<RefundRow> {
  const outcome = gateway && (await checkRefundStatus(app.db, gateway, refund))
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

/** The merchant takes the money back: the refund has failed, and its amount can be refunded again. */
export async function creditBack(
  app: PaymentsApp,
  tx: Tx,
  refund: RefundRow,
  /** The gateway's own words, if it gave any. */
  message: string | null,
): Promise<RefundRow> {
  const at = app.clock.now()
  const failed = await failLate(tx, refund, message ?? 'It failed after its success.', at)
  if (!failed) throw new Error(`refund ${refund.id} has not failed after its success`)
  // The credit comes first, because a lost dispute may claim the amount again.
  await bookLateFailure(app, tx, failed, 'refund_reversal', at)
  await takeBackRefund(app, tx, failed)
  await recordCompletionEvent(app, tx, failed)
  return failed
}

/** The payer got the money by other means: the gateway has it, as the ledger says. */
export async function markReturnedElsewhere(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  await saveLateReason(tx, refund, 'returned_elsewhere', app.clock.now())
}

/** The money is booked out, as unclaimed. */
export async function writeOffLateFailure(app: PaymentsApp, tx: Tx, refund: RefundRow): Promise<void> {
  const at = app.clock.now()
  await saveLateReason(tx, refund, 'written_off', at)
  await bookLateFailure(app, tx, refund, 'write_off', at)
  await writeOffRefund(app, tx, refund)
}

async function bookLateFailure(
  app: PaymentsApp,
  tx: Tx,
  refund: RefundRow,
  kind: 'refund_reversal' | 'write_off',
  at: Date,
): Promise<void> {
  const { merchantId, paymentId, attemptId, id: refundId, currency, gateway, amountMinor } = refund
  await recordEntry(app, tx, {
    ...{ merchantId, kind, paymentId, attemptId, refundId, currency, at },
    lines: [
      [`gateway:${gateway}`, -amountMinor],
      [kind === 'refund_reversal' ? 'available' : 'written_off', amountMinor],
    ],
  })
}
