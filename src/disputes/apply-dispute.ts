// Disputes (chargebacks). An open dispute holds its amount in the ledger account `disputed`. A won dispute returns it to the
// merchant; a lost one sends it to the gateway. The move, the ledger entry and the dispute commit together.

import { openCase } from '../cases/open.ts'
import type { DisputeReport } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { sqlStateOf, type Tx } from '../kit/db/db.ts'
import { recordEntry } from '../ledger/debit.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentWithAttempt } from '../payments/attempt.ts'
import { lockPayment } from '../payments/find.ts'
import { movePaymentWithin, plainMove } from '../payments/move.ts'
import type { MoveSource } from '../payments/states.ts'
import { methodOf } from '../payments/views.ts'
import { claimWrittenOff, debitForDispute, min } from './claims.ts'
import type { DisputeDecision, DisputeRow } from './dispute.ts'
import {
  insertDispute,
  readRemainingMinor,
  scheduleDisputePoll,
  setDeadline,
  updateDispute,
} from './dispute-queries.ts'

// Disputes take weeks, and gateways send a webhook when they end. Polling covers a lost webhook.
export const DISPUTE_POLL_DELAY_MS = 24 * 3_600_000

const UNIQUE_VIOLATION = '23505'

/** Undefined when another process has moved the payment or recorded the same dispute since. */
export async function applyDispute(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  { to, report, open }: DisputeDecision,
  source: MoveSource,
): Promise<PaymentWithAttempt | undefined> {
  const { payment } = current
  const method = current.method ?? (await methodOf(app, payment))
  const next = to === null ? payment : plainMove(payment, to)
  const move = (tx: Tx) =>
    movePaymentWithin(tx, app, payment, next, { kind: 'plain', proof: 'gateway', source, method })
  const write = async (tx: Tx) => {
    if (to !== null && !(await move(tx))) return false
    await recordDispute(app, tx, current, report, { to, open })
    return true
  }
  try {
    const isDone = await app.db.transaction(write)
    return isDone ? { ...current, payment: next, method } : undefined
  } catch (error) {
    if (sqlStateOf(error) === UNIQUE_VIOLATION) return undefined
    throw error
  }
}

async function recordDispute(
  app: PaymentsApp,
  tx: Tx,
  current: PaymentWithAttempt,
  report: DisputeReport,
  { to, open }: Pick<DisputeDecision, 'to' | 'open'>,
): Promise<void> {
  const { payment, attempt } = current
  const now = app.clock.now()
  // A move has locked the payment's row. Without a move, lock it here against concurrent refunds.
  if (to === null) await lockPayment(tx, payment.merchantId, payment.id)
  const remainingMinor = await readRemainingMinor(tx, payment.merchantId, payment.id)
  const debitMinor = min(report.amount.minor, remainingMinor)
  if (to === 'disputed') {
    await debitForDispute(app, tx, payment, { kind: 'dispute', to: 'disputed', amountMinor: debitMinor })
    await insertDispute(tx, newDispute(app, current, report, { status: 'open', amountMinor: debitMinor }))
    await scheduleDisputePoll(tx, payment.merchantId, attempt.id, now, addMs(now, DISPUTE_POLL_DELAY_MS))
  } else if (open) {
    const amountMinor = to === 'reversed' ? debitMinor : 0n
    await releaseDispute(app, tx, current, open, amountMinor)
    const claimedMinor = report.amount.minor
    await updateDispute(tx, { ...open, status: report.status, claimedMinor, amountMinor, closedAt: now })
  } else {
    const amountMinor = report.status === 'lost' ? debitMinor : 0n
    await debitForDispute(app, tx, payment, {
      kind: 'reversal',
      to: `gateway:${attempt.gateway}`,
      amountMinor,
    })
    await insertDispute(tx, newDispute(app, current, report, { status: report.status, amountMinor }))
  }
  if (report.status === 'lost') await claimWrittenOff(app, tx, payment)
}

/**
 * Releases the held amount: `lostMinor` goes to the gateway, the rest back to the merchant. A refund that succeeded meanwhile
 * makes the lost amount smaller than the held one; a refund that failed makes it larger.
 *
 * The returned amount is available at once, even if it was taken from pending: disputes end weeks after settlement, and a
 * payment settles once.
 */
async function releaseDispute(
  app: PaymentsApp,
  tx: Tx,
  { payment, attempt }: PaymentWithAttempt,
  { amountMinor: heldMinor }: DisputeRow,
  lostMinor: bigint,
): Promise<void> {
  const { merchantId, id: paymentId, currency } = payment
  const gatewayAccount = `gateway:${attempt.gateway}`
  const kind = lostMinor > 0n ? 'reversal' : 'dispute_won'
  const fromHeldMinor = min(heldMinor, lostMinor)
  if (heldMinor > 0n) {
    const facts = { merchantId, kind, paymentId, attemptId: null, refundId: null, currency } as const
    await recordEntry(app, tx, {
      ...facts,
      at: app.clock.now(),
      lines: [
        ['disputed', -heldMinor],
        [gatewayAccount, fromHeldMinor],
        ['available', heldMinor - fromHeldMinor],
      ],
    })
  }
  await debitForDispute(app, tx, payment, {
    kind: 'reversal',
    to: gatewayAccount,
    amountMinor: lostMinor - fromHeldMinor,
  })
}

/** The provider may set a deadline later, extend it, or wait for nothing more after the response. */
export async function saveDeadlines(
  { db }: Pick<PaymentsApp, 'db'>,
  reports: readonly DisputeReport[],
  recorded: readonly DisputeRow[],
): Promise<void> {
  for (const dispute of recorded) {
    const report = reports.find(({ reference }) => reference === dispute.gatewayReference)
    if (dispute.status !== 'open' || report?.status !== 'open') continue
    const respondBy = report.respondBy ?? null
    if (respondBy?.getTime() !== dispute.respondBy?.getTime()) await setDeadline(db, dispute, respondBy)
  }
}

/**
 * Opens a case for a dispute in another currency, whose amount cannot be compared with the payment. Logs every dispute that
 * the gateway reports and that we could not record.
 */
export async function reviewUnrecordedDisputes(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  reports: readonly DisputeReport[],
  recorded: readonly DisputeRow[],
): Promise<void> {
  const { payment, attempt } = current
  if (reports.some(({ amount, status }) => amount.currency !== payment.currency && status !== 'won')) {
    const { merchantId, paymentId, id: attemptId } = attempt
    const kind = 'dispute_currency_mismatch'
    await app.db.transaction((tx) => openCase(app, tx, { merchantId, kind, paymentId, attemptId }))
  }
  // While one dispute is open, the others are recorded later.
  if (payment.status === 'disputed') return
  const references = new Set(recorded.map(({ gatewayReference }) => gatewayReference))
  for (const { reference, status } of reports) {
    if (references.has(reference)) continue
    const { merchantId, id: attemptId, gateway } = attempt
    const facts = { merchantId, paymentId: payment.id, attemptId, gateway, outcome: status }
    app.log.write('dispute.unrecorded', facts)
  }
}

function newDispute(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  report: DisputeReport,
  { status, amountMinor }: Pick<DisputeRow, 'status' | 'amountMinor'>,
): DisputeRow {
  const now = app.clock.now()
  return {
    merchantId: payment.merchantId,
    id: app.random.uuid(),
    paymentId: payment.id,
    attemptId: attempt.id,
    gatewayReference: report.reference,
    status,
    claimedMinor: report.amount.minor,
    amountMinor,
    currency: payment.currency,
    respondBy: report.respondBy ?? null,
    openedAt: now,
    closedAt: status === 'open' ? null : now,
  }
}
