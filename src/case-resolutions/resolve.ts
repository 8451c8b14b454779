// Resolves a case. The effect, the end of the case and their events are one transaction. The same resolution again is a
// replay; of two concurrent ones the first wins, and the other learns which one stands.

import { type CaseDetails, factsOf } from '../cases/case.ts'
import { kindFacts } from '../cases/case-kinds.ts'
import { requireCase } from '../cases/find.ts'
import { closeCase, lockOpenCase } from '../cases/open.ts'
import { lockAttempt } from '../disputes/duplicates.ts'
import type { Tx } from '../kit/db/db.ts'
import { isReplay, type KeyClaim } from '../kit/db/idempotency.ts'
import { errorFields } from '../kit/observability/log.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { getPayment, listAttempts, lockPayment } from '../payments/find.ts'
import { methodOf } from '../payments/views.ts'
import { advanceRefund } from '../refunds/advance.ts'
import { getRefund } from '../refunds/find.ts'
import type { RefundRow } from '../refunds/refund.ts'
import { type Approval, decisionOf, requestApproval } from './approval.ts'
import {
  acceptReceived,
  markFailed,
  markPaid,
  markReturned,
  returnByRefund,
  type Subject,
  writeOff,
} from './effects.ts'
import { bookUnbookedRefund, resolveFailedRefund, resolvePendingRefund } from './refund-effects.ts'
import {
  type Actor,
  alreadyResolved,
  isSameEnding,
  type ResolutionRequest,
  requirePossible,
} from './request.ts'
import { answerOf, recordStep } from './steps.ts'

export interface Resolved {
  details: CaseDetails
  replayed: boolean
}

export async function resolveCase(
  app: PaymentsApp,
  actor: Actor,
  id: string,
  request: ResolutionRequest,
  claim?: KeyClaim,
): Promise<Resolved> {
  const details = await requireCase(app, actor.merchant, id)
  if (details.row.closedAt !== null) return replayOrReject(details, request)
  requirePossible(actor, details, request)
  const approval = await requestApproval(app, actor, details, request, claim)
  const replayed =
    approval.kind === 'proposed'
      ? approval.replayed
      : await carryOut(app, actor, details, { request, approval }, claim)
  const after = await requireCase(app, actor.merchant, id)
  // Another resolution, or the gateway's answer, came first.
  if (after.row.closedAt !== null && !isSameEnding(after, request)) throw alreadyResolved(after)
  return { details: after, replayed }
}

function carryOut(
  app: PaymentsApp,
  actor: Actor,
  details: CaseDetails,
  { request, approval }: { request: ResolutionRequest; approval: Extract<Approval, { kind: 'approved' }> },
  claim: KeyClaim | undefined,
): Promise<boolean> {
  const { by, note, proposedAt } = approval
  return execute(app, { ...actor, by }, details, { ...request, note, proposedAt }, claim)
}

export function replayOrReject(details: CaseDetails, request: ResolutionRequest): Resolved {
  if (isSameEnding(details, request)) return { details, replayed: true }
  throw alreadyResolved(details)
}

/** True when nothing was done, because the same request or another resolution came first. */
async function execute(
  app: PaymentsApp,
  actor: Actor,
  { row }: CaseDetails,
  request: ResolutionRequest,
  claim: KeyClaim | undefined,
): Promise<boolean> {
  const refund = row.refundId === null ? null : await getRefund(app, row.merchantId, row.refundId)
  const isPendingRefund = row.kind === 'refund_requires_review'
  if (request.resolution === 'ask_again' || isPendingRefund) {
    const isRetry = claim && (await app.db.transaction((tx) => isReplay(app, tx, claim)))
    // The claim is a transaction of its own, so a retry of a decision may find it not carried out: it is done now, once.
    if (isRetry && request.resolution === 'ask_again') return true
    if (isPendingRefund && refund) await resolvePendingRefund(app, actor, row, refund, request)
    else await askAgain(app, actor, row, request)
    return false
  }
  const subject = await readSubject(app, row)
  const done = await app.db.transaction(async (tx): Promise<Done> => {
    const locked = await lockSubject(tx, subject)
    if (!locked || (claim && (await isReplay(app, tx, claim)))) return { replayed: true }
    // Another attempt may have paid the payment since it was read without a lock.
    const facts = factsOf(locked.payment, locked.attempt, refund)
    requirePossible(actor, { row: locked.row, facts }, request)
    return applyResolution(app, tx, actor, locked, refund, request)
  })
  if (done.refund) await submitRefund(app, done.refund)
  return done.replayed
}

interface Done {
  replayed: boolean
  /** A refund that was recorded and is to be submitted. */
  refund?: RefundRow
}

async function readSubject(app: PaymentsApp, row: CaseDetails['row']): Promise<Subject> {
  const payment = await getPayment(app, row)
  const attempts = await listAttempts(app.db, row.merchantId, row.paymentId)
  const attempt = attempts.find(({ id }) => id === row.attemptId)
  if (!attempt) throw new Error(`attempt ${row.attemptId} does not exist`)
  const gateway = await app.gateways.find(row.merchantId, attempt.gateway, attempt.accountId)
  return { row, payment, attempt, gateway, method: await methodOf(app, payment) }
}

/** Locks in the order of the money path: attempt, payment, case. Undefined when the case is closed already. */
async function lockSubject(tx: Tx, subject: Subject): Promise<Subject | undefined> {
  const { merchantId, paymentId, attemptId } = subject.row
  await lockAttempt(tx, merchantId, attemptId)
  const payment = await lockPayment(tx, merchantId, paymentId)
  const row = await lockOpenCase(tx, subject.row)
  const attempts = await listAttempts(tx, merchantId, paymentId)
  const attempt = attempts.find(({ id }) => id === attemptId)
  return row && attempt && { ...subject, row, payment, attempt }
}

async function applyResolution(
  app: PaymentsApp,
  tx: Tx,
  actor: Actor,
  subject: Subject,
  refund: RefundRow | null,
  request: ResolutionRequest,
): Promise<Done> {
  const { row } = subject
  if (row.kind === 'refund_failed_late' && refund) {
    await resolveFailedRefund(app, tx, row, refund, decisionOf(actor, request))
    return { replayed: false }
  }
  if (row.kind === 'refund_not_booked') {
    await bookUnbookedRefund(app, tx, subject, request.resolution)
    await closeCase(app, tx, row, decisionOf(actor, request))
    return { replayed: false }
  }
  const sent = await applyToPayment(app, tx, subject, request)
  await closeCase(app, tx, row, decisionOf(actor, request))
  return sent ? { replayed: false, refund: sent } : { replayed: false }
}

/** The refund that the resolution has recorded, if any. */
async function applyToPayment(
  app: PaymentsApp,
  tx: Tx,
  subject: Subject,
  { resolution, proof }: ResolutionRequest,
): Promise<RefundRow | undefined> {
  switch (resolution) {
    case 'accept':
      if (!kindFacts(subject.row.kind).keepsPaid) await acceptReceived(app, tx, subject)
      return undefined
    case 'mark_paid':
      await markPaid(app, tx, subject, proof ?? '')
      return undefined
    case 'mark_failed':
      await markFailed(app, tx, subject)
      return undefined
    case 'write_off':
      await writeOff(app, tx, subject)
      return undefined
    case 'return':
      if (proof === null) return returnByRefund(app, tx, subject)
      await markReturned(app, tx, subject)
      return undefined
    case 'ask_again':
      throw new Error('a status check needs no lock')
  }
}

/** Checks the status at the gateway. Its outcome closes the case; a case about a payment that has ended closes too. */
async function askAgain(
  app: PaymentsApp,
  actor: Actor,
  row: CaseDetails['row'],
  { resolution, note, proof }: ResolutionRequest,
): Promise<void> {
  const { payment, attempt } = await readSubject(app, row)
  const createdAt = app.clock.now()
  const { payment: after, answered, outcome } = await verifyAttempt(app, { payment, attempt }, 'case')
  const isOver = after.status !== 'processing' && (answered || after.status !== payment.status)
  await app.db.transaction(async (tx) => {
    await recordStep(app, tx, row, {
      ...{ kind: 'asked', actor: actor.by, note, createdAt, ...answerOf(outcome) },
    })
    if (isOver) await closeCase(app, tx, row, { resolution, note, proof, by: actor.by })
  })
}

async function submitRefund(app: PaymentsApp, refund: RefundRow): Promise<void> {
  try {
    await advanceRefund(app, refund, 'api')
  } catch (error) {
    // The refund is recorded, and the resolver continues.
    app.log.write('refund.submit_failed', { refundId: refund.id, ...errorFields(error) })
  }
}
