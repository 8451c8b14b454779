// Disputes of duplicate payments. While the dispute is open, the automatic refund is suspended. If it is won, the refund
// resumes; if it is lost, the bank has returned the money. If a refund had already started, a case for manual review is opened.

import type { CaseDetails } from '../cases/case.ts'
import type { CaseKind } from '../cases/case-kinds.ts'
import { listCasesOfAttempt } from '../cases/find.ts'
import { closeAnswered, openCase } from '../cases/open.ts'
import type { DisputeReport, Gateway } from '../gateways/gateway.ts'
import type { Tx } from '../kit/db/db.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import {
  lockAttempt,
  recordDuplicateReversal,
  scheduleDuplicateRefund,
  unscheduleDuplicateRefund,
} from './duplicates.ts'

/** Idempotent: the same reports again change nothing. */
export async function recordDuplicateDisputes(
  app: PaymentsApp,
  gateway: Gateway,
  attempt: AttemptRow,
  reports: readonly DisputeReport[],
): Promise<void> {
  const newCaseKind = await app.db.transaction(async (tx) => {
    await lockAttempt(tx, attempt.merchantId, attempt.id)
    const cases = await listCasesOfAttempt(tx, attempt.merchantId, attempt.id)
    const existing = cases.find(({ kind }) => kind === 'duplicate_disputed')
    return applyReports(app, tx, attempt, reports, existing)
  })
  if (!newCaseKind) return
  const { merchantId, paymentId, id: attemptId } = attempt
  const facts = { merchantId, paymentId, attemptId, gateway: gateway.name, reason: newCaseKind }
  app.log.write('duplicate_payment.disputed', facts)
}

/** The kind of the case that was opened, if any. */
async function applyReports(
  app: PaymentsApp,
  tx: Tx,
  attempt: AttemptRow,
  reports: readonly DisputeReport[],
  existing: CaseDetails['row'] | undefined,
): Promise<CaseKind | undefined> {
  const isCaseOpen = existing !== undefined && existing.closedAt === null
  const reportsWith = (status: DisputeReport['status']) =>
    reports.filter((report) => report.status === status)
  if (reportsWith('open').length > 0)
    return isCaseOpen ? undefined : holdDuplicateRefund(app, tx, attempt, existing)
  const lost = reportsWith('lost')
  if (lost.length === 0) {
    if (isCaseOpen) await resumeDuplicateRefund(app, tx, attempt)
    return undefined
  }
  const isFullAmount = lost.some(({ amount }) => amount.minor === attempt.paidMinor)
  const wasRefundScheduled =
    isCaseOpen || (await unscheduleDuplicateRefund(tx, attempt.merchantId, attempt.id))
  if (wasRefundScheduled && isFullAmount) return closeLostDispute(app, tx, attempt)
  return isCaseOpen || !existing
    ? openDuplicateCase(app, tx, attempt, 'duplicate_disputed_after_refund')
    : undefined
}

/** Suspends a scheduled refund. If the refund has already started, the money may be returned twice: opens a case. */
async function holdDuplicateRefund(
  app: PaymentsApp,
  tx: Tx,
  attempt: AttemptRow,
  existing: CaseDetails['row'] | undefined,
): Promise<CaseKind | undefined> {
  if (await unscheduleDuplicateRefund(tx, attempt.merchantId, attempt.id))
    return openDuplicateCase(app, tx, attempt, 'duplicate_disputed')
  return existing ? undefined : openDuplicateCase(app, tx, attempt, 'duplicate_disputed_after_refund')
}

async function resumeDuplicateRefund(
  app: PaymentsApp,
  tx: Tx,
  { merchantId, id: attemptId }: AttemptRow,
): Promise<void> {
  await closeAnswered(
    app,
    tx,
    { merchantId, attemptId, kind: 'duplicate_disputed' },
    'The chargeback was won.',
  )
  await scheduleDuplicateRefund(tx, merchantId, attemptId, app.clock.now())
}

async function closeLostDispute(app: PaymentsApp, tx: Tx, attempt: AttemptRow): Promise<undefined> {
  const { merchantId, id: attemptId } = attempt
  await openDuplicateCase(app, tx, attempt, 'duplicate_disputed')
  const kind = 'duplicate_disputed'
  await closeAnswered(
    app,
    tx,
    { merchantId, attemptId, kind },
    'The bank has sent the money back to the payer.',
  )
  await recordDuplicateReversal(app, tx, attempt)
}

async function openDuplicateCase(
  app: PaymentsApp,
  tx: Tx,
  { merchantId, paymentId, id: attemptId }: AttemptRow,
  kind: CaseKind,
): Promise<CaseKind | undefined> {
  const reopens = kind === 'duplicate_disputed'
  const isNew = await openCase(app, tx, { merchantId, kind, paymentId, attemptId }, { reopens })
  return isNew ? kind : undefined
}
