// Opens and closes cases: situations that a person must resolve. A case is opened, logged and reported by its event once,
// however often its cause is found. A case about an unknown outcome closes by itself when the gateway reports it.

import { sanitizeText } from '../core/sanitize-text.ts'
import { recordEvents } from '../events/service.ts'
import type { Tx } from '../kit/db/db.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { type Move, movePayment, movePaymentWithin } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { type CaseDetails, type CaseRefund, type CaseRow, factsOf, type Proposal } from './case.ts'
import { type CaseKind, kindFacts, UNCERTAIN_KINDS } from './case-kinds.ts'
import {
  type CaseClosing,
  closeCaseRow,
  insertCase,
  lockCase,
  lockOpenCases,
  markUncertain,
  saveProposal,
  saveUnbooked,
  selectCasesOfAttempt,
  UNRESOLVED,
} from './queries.ts'
import { toCaseRecord } from './schema.ts'

export type OpenCaseApp = Pick<PaymentsApp, 'clock' | 'random' | 'settings' | 'log'>

export interface NewCase {
  merchantId: string
  kind: CaseKind
  paymentId: string
  attemptId: string
  refund?: CaseRefund
  /** The provider's own words. */
  message?: string | null
  /** The amount of refunds at the provider that could not be booked. */
  unbookedMinor?: bigint | null
  /** The provider's ids of these refunds. */
  unbookedReferences?: string[]
}

/** Whether the case is new, or was closed and is open again. Writes the case and its event in the caller's transaction. */
export async function openCase(
  app: OpenCaseApp,
  tx: Tx,
  newCase: NewCase,
  { reopens = false } = {},
): Promise<boolean> {
  const { merchantId, kind, paymentId, attemptId, refund = null, message } = newCase
  const { unbookedMinor = null, unbookedReferences = [] } = newCase
  const found = await findSubject(tx, newCase)
  const { owner } = kindFacts(kind)
  const row = {
    ...{ merchantId, kind, paymentId, attemptId },
    id: app.random.uuid(),
    owner: found.attempt.accountId === null ? owner : ('merchant' as const),
    refundId: refund?.id ?? null,
    providerMessage: message ? sanitizeText(message) : null,
    unbookedMinor,
    unbookedReferences,
    createdAt: app.clock.now(),
  }
  const opened = await insertCase(tx, row, reopens)
  if (!opened) {
    // An open case shows the refunds that the provider lists now. Its version stays: nothing was decided.
    if (row.unbookedReferences.length > 0) await saveUnbooked(tx, row)
    return false
  }
  if (UNCERTAIN_KINDS.includes(kind)) await markUncertain(tx, merchantId, paymentId)
  const details = {
    row: { ...UNRESOLVED, ...row, ...opened },
    facts: factsOf(found.payment, found.attempt, refund),
  }
  await recordCaseEvent(app, tx, 'payment.needs_review', details)
  const { gateway } = found.attempt
  app.log.write('case.opened', {
    merchantId,
    paymentId,
    attemptId,
    refundId: refund?.id,
    gateway,
    reason: kind,
  })
  return true
}

async function findSubject(tx: Tx, { merchantId, paymentId, attemptId }: NewCase) {
  const payment = await findPayment(tx, merchantId, paymentId)
  const attempts = await listAttempts(tx, merchantId, paymentId)
  const attempt = attempts.find(({ id }) => id === attemptId)
  if (!payment || !attempt) throw new Error(`attempt ${attemptId} does not exist`)
  return { payment, attempt }
}

async function recordCaseEvent(
  app: OpenCaseApp,
  tx: Tx,
  type: 'payment.needs_review' | 'case.resolved',
  details: CaseDetails,
): Promise<void> {
  const { merchantId, id: uuid, version } = details.row
  await recordEvents(app, tx, app.settings.mode, [
    { merchantId, type, resource: { type: 'case', uuid, version }, data: toCaseRecord(details) },
  ])
}

/** Locks the case until the end of the transaction. Undefined when it is closed. */
export async function lockOpenCase(tx: Tx, row: CaseRow): Promise<CaseRow | undefined> {
  const locked = await lockCase(tx, row)
  return locked.closedAt === null ? locked : undefined
}

/** Records a resolution that waits for another person's approval. Null: none waits any more. */
export async function proposeResolution(tx: Tx, row: CaseRow, proposal: Proposal | null): Promise<void> {
  await saveProposal(tx, row, proposal)
}

/** Closes the case with its event, in the caller's transaction. Undefined when it is closed already. */
export async function closeCase(
  app: OpenCaseApp,
  tx: Tx,
  row: Pick<CaseRow, 'merchantId' | 'id'>,
  closing: CaseDecision,
  refund: CaseRefund | null = null,
): Promise<CaseRow | undefined> {
  if (closing.assertStands) {
    const locked = await lockCase(tx, row)
    if (locked.closedAt === null) closing.assertStands(locked)
  }
  const closed = await closeCaseRow(tx, row, { ...closing, at: app.clock.now() })
  if (!closed) return undefined
  const { payment, attempt } = await findSubject(tx, closed)
  await recordCaseEvent(app, tx, 'case.resolved', { row: closed, facts: factsOf(payment, attempt, refund) })
  return closed
}

export interface CaseDecision extends Omit<CaseClosing, 'at'> {
  /** Throws if the decision approves a proposal that the locked case does not have any more. */
  assertStands?: ((locked: CaseRow) => void) | undefined
}

/** The case ends because the gateway has reported the outcome meanwhile. */
export const GATEWAY_ANSWERED: CaseDecision = {
  resolution: 'gateway_answered',
  note: 'The gateway has reported the outcome.',
  proof: null,
  by: 'service',
}

/** Closes a case of the attempt that needs no person any more. */
export async function closeAnswered(
  app: OpenCaseApp,
  tx: Tx,
  { merchantId, attemptId, kind }: Pick<NewCase, 'merchantId' | 'attemptId' | 'kind'>,
  note: string,
): Promise<boolean> {
  const cases = await selectCasesOfAttempt(tx, merchantId, attemptId)
  const found = cases.find((one) => one.kind === kind)
  return found !== undefined && (await closeCase(app, tx, found, { ...GATEWAY_ANSWERED, note })) !== undefined
}

const REVIEW_REASONS: readonly (string | null)[] = ['needs_review', 'requires_review', 'amount_mismatch']

/** Whether the payment has an open case that keeps it from ending. */
export function isUnderReview({ statusReason }: Pick<PaymentRow, 'statusReason'>): boolean {
  return REVIEW_REASONS.includes(statusReason)
}

/**
 * Moves a payment. If its outcome was under review, the same transaction closes the cases that the outcome answers. False
 * when the payment has changed since the caller read it.
 */
export async function moveAndCloseCases(
  app: PaymentsApp,
  from: PaymentRow,
  to: PaymentRow,
  move: Move,
): Promise<boolean> {
  if (!isUnderReview(from)) return movePayment(app, from, to, move)
  return app.db.transaction(async (tx) => {
    if (!(await movePaymentWithin(tx, app, from, to, move))) return false
    await closeUncertainCases(app, tx, from)
    return true
  })
}

async function closeUncertainCases(app: OpenCaseApp, tx: Tx, { merchantId, id }: PaymentRow): Promise<void> {
  const open = await lockOpenCases(tx, merchantId, id)
  for (const one of open)
    if (UNCERTAIN_KINDS.includes(one.kind)) await closeCase(app, tx, one, GATEWAY_ANSWERED)
}
