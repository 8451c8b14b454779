// Applies a gateway's outcome to a payment. Verify, the payer's return, the first call and the resolver all end here. One
// statement writes the move, the ledger entry and the event, and only if the payment is still as it was read (optimistic
// locking by version). Two concurrent proofs therefore make one credit and one event.

import type { CaseKind } from '../cases/case-kinds.ts'
import { moveAndCloseCases, openCase } from '../cases/open.ts'
import { feeOf, type Money, money } from '../core/money.ts'
import type { MethodRow } from '../customers/method.ts'
import { applyDispute, reviewUnrecordedDisputes, saveDeadlines } from '../disputes/apply-dispute.ts'
import { recordDuplicateDisputes } from '../disputes/duplicate-dispute.ts'
import { listDisputes } from '../disputes/find.ts'
import type { Gateway, Outcome } from '../gateways/gateway.ts'
import {
  acceptedPostings,
  capturePostings,
  directPostings,
  duplicatePostings,
  type Posting,
  unmatchedPostings,
} from '../ledger/service.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { type Move, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { MoveSource } from '../payments/states.ts'
import { type ClosedAttempt, closeAttempt } from '../payments/update-attempt.ts'
import { type Decision, decide } from './decide.ts'
import { saveReceiptNumber } from './queries.ts'
import { openRecovery } from './recovery.ts'
import { reviewUncertain } from './review.ts'
import { sanitizeOutcome } from './sanitize.ts'
import { saveLateMethod, saveOutcomeMethod } from './save-method.ts'
import { declinedPollAt, isMethodPending, methodPollAt, openPagePollAt } from './schedule.ts'

export interface OutcomeContext {
  source: MoveSource
  /** The outcome is of the first call of this attempt. */
  firstCall?: boolean
  /** The caller fails over to another gateway if this one provably began nothing. */
  canFailOver?: boolean
  /** While the outcome is unknown, the payer does not have the URL of the page and cannot pay there. */
  isPageLost?: boolean
}

// Each retry means that another writer has moved the payment; a payment has far fewer moves than this.
const MAX_ROUNDS = 10

export async function applyOutcome(
  app: PaymentsApp,
  gateway: Gateway,
  initial: PaymentWithAttempt,
  reported: Outcome,
  context: OutcomeContext,
): Promise<PaymentWithAttempt> {
  let current = initial
  const { merchantId, id: paymentId } = initial.payment
  const outcome = sanitizeOutcome(reported)
  const reports = disputesOf(outcome)
  const rounds = MAX_ROUNDS + MOVES_PER_DISPUTE * reports.length
  for (let round = 0; round < rounds; round += 1) {
    // If the resolver has claimed the attempt since, another call may have been made: this is no longer the only one.
    const isSameClaim = current.attempt.fence === initial.attempt.fence
    const disputes = reports.length > 0 ? await listDisputes(app.db, merchantId, paymentId) : []
    const decision = decide(current.payment, current.attempt, outcome, {
      firstCall: isSameClaim && context.firstCall === true,
      canFailOver: context.canFailOver ?? false,
      isPageLost: isSameClaim && context.isPageLost === true,
      disputes,
    })
    if (decision.kind === 'nothing') {
      // The disputes were read after the payment: another process may have recorded one in between.
      const stored = reports.length > 0 ? await reload(app, current) : current
      if (stored.payment.version !== current.payment.version) {
        current = stored
        continue
      }
      await saveLateFacts(app, current, outcome)
      await saveDeadlines(app, reports, disputes)
      await reviewUnrecordedDisputes(app, current, reports, disputes)
      return (await reviewUncertain(app, current, outcome)) ? reload(app, current) : current
    }
    if (decision.kind === 'duplicate_dispute') {
      await recordDuplicateDisputes(app, gateway, current.attempt, decision.reports)
      return current
    }
    const applied = await applyDecision(app, gateway, current, decision, outcome, context)
    // A disputed payment may need two moves: the capture, then the dispute.
    if (applied && reports.length === 0) return applied
    current = applied ?? (await reload(app, current))
  }
  throw new Error(`payment ${initial.payment.id} moved ${rounds} times while one outcome was applied`)
}

// A dispute that we see for the first time when it has ended may be opened and closed.
const MOVES_PER_DISPUTE = 2

const disputesOf = (outcome: Outcome) => (outcome.kind === 'succeeded' ? (outcome.disputes ?? []) : [])

function applyDecision(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
  decision: Extract<Decision, { kind: 'move' | 'close' | 'dispute' }>,
  outcome: Outcome,
  context: OutcomeContext,
): Promise<PaymentWithAttempt | undefined> {
  switch (decision.kind) {
    case 'move':
      return applyMove(app, gateway, current, decision, outcome, context)
    case 'close':
      return applyClose(app, gateway, current, decision, outcome)
    case 'dispute':
      return applyDispute(app, current, decision, context.source)
  }
}

export async function reload(app: PaymentsApp, stale: PaymentWithAttempt): Promise<PaymentWithAttempt> {
  const { merchantId, id } = stale.payment
  const [payment, attempts] = await Promise.all([
    findPayment(app.db, merchantId, id),
    listAttempts(app.db, merchantId, id),
  ])
  const attempt = attempts.find((one) => one.id === stale.attempt.id)
  if (!payment || !attempt) throw new Error(`payment ${id} does not exist`)
  // Keep the due time that the caller read: a webhook that arrived since is not answered by the caller's status check.
  return { payment, attempt: { ...attempt, dueAt: attempt.dueAt && stale.attempt.dueAt } }
}

type MoveDecision = Extract<Decision, { kind: 'move' }>

async function applyMove(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
  decision: MoveDecision,
  outcome: Outcome,
  context: OutcomeContext,
): Promise<PaymentWithAttempt | undefined> {
  const { payment, attempt } = current
  const now = app.clock.now()
  // The method is saved before the move, because the move refers to it; saving is idempotent.
  const saved = await saveOutcomeMethod(app, current, outcome)
  if (saved === undefined) return undefined
  const method = saved && decision.paid ? withLastUse(saved, now) : saved
  const recovery = await openRecovery(app, payment, decision, method)
  const credit =
    decision.paid === null ? null : creditOf(app, gateway, decision.paid, { reported: feeReported(outcome) })
  const next: PaymentRow = {
    ...movedPayment(current, decision, now),
    feeMinor: credit?.feeMinor ?? payment.feeMinor,
    paymentMethodId: method?.id ?? payment.paymentMethodId,
    recoveryPaymentId: recovery?.id ?? payment.recoveryPaymentId,
  }
  const dueAt = isMethodPending(outcome)
    ? methodPollAt(app, attempt)
    : pollAfterDecline(app, gateway, current, decision)
  const receiptNumber = receiptNumberOf(outcome) ?? attempt.receiptNumber
  const nextAttempt: AttemptRow = { ...endedAttempt(attempt, decision), receiptNumber, endedAt: now, dueAt }
  const ended = {
    proof: decision.proof,
    source: context.source,
    method,
    attempt: nextAttempt,
    expectedFence: decision.fenced ? attempt.fence : null,
    readDueAt: attempt.dueAt,
  }
  const move: Move = credit ? { kind: 'captured', ...ended, ...credit } : { kind: 'attempt_ended', ...ended }
  const moved = await moveAndCloseCases(app, payment, next, move)
  return moved ? { payment: next, attempt: nextAttempt, method } : undefined
}

/** When an attempt that ends with the move is polled again; null for never. */
function pollAfterDecline(
  app: PaymentsApp,
  { behavior }: Gateway,
  current: PaymentWithAttempt,
  { proof }: MoveDecision,
): Date | null {
  if (proof === 'page_lost') return openPagePollAt(app, current)
  return proof === 'declined' ? declinedPollAt(app, current, behavior) : null
}

function movedPayment(
  { payment, attempt }: PaymentWithAttempt,
  decision: MoveDecision,
  now: Date,
): PaymentRow {
  // If a decline leaves the checkout open, only the attempt has failed; the payment has not.
  const failure = decision.to === 'failed' ? decision.failure : null
  return {
    ...plainMove(payment, decision.to),
    gateway: attempt.gateway,
    channel: attempt.channel,
    failureCode: failure?.code ?? null,
    failureMessage: failure?.message ?? null,
    amountPaidMinor: decision.paid?.minor ?? payment.amountPaidMinor,
    paidAt: decision.paidAt ?? (decision.paid ? now : payment.paidAt),
  }
}

function endedAttempt(attempt: AttemptRow, decision: MoveDecision): AttemptRow {
  return {
    ...attempt,
    status: decision.attemptStatus,
    failureCode: decision.failure?.code ?? null,
    failureMessage: decision.failure?.message ?? null,
    gatewayReference: decision.gatewayReference ?? attempt.gatewayReference,
    paidMinor: decision.paid?.minor ?? null,
    paidCurrency: decision.paid?.currency ?? null,
  }
}

/**
 * The receipt number and the saved method may arrive after the proof of the payment: in the report of a callback, or when the
 * provider is asked again.
 */
async function saveLateFacts(app: PaymentsApp, current: PaymentWithAttempt, outcome: Outcome): Promise<void> {
  const { attempt } = current
  if (outcome.kind !== 'succeeded' || outcome.key !== attempt.gatewayKey) return
  const receiptNumber = receiptNumberOf(outcome)
  if (receiptNumber !== null && attempt.receiptNumber === null)
    await saveReceiptNumber(app.db, attempt, receiptNumber)
  const isExpected = attempt.report !== null || Boolean(attempt.choice?.consent)
  if (attempt.status === 'succeeded' && isExpected) await saveLateMethod(app, current, outcome)
}

function receiptNumberOf(outcome: Outcome): string | null {
  return (outcome.kind === 'succeeded' ? outcome.receiptNumber : undefined) ?? null
}

const feeReported = (outcome: Outcome) => (outcome.kind === 'succeeded' ? outcome.fee : undefined)

interface Credit {
  /** Null: neither the table of fees nor the provider says it, so the whole amount is credited. */
  feeMinor: bigint | null
  postings: Posting[]
  /** The amount that becomes available at settlement; null if the merchant already has the money. */
  settlementMinor: bigint | null
}

/**
 * The ledger entry of a capture, of money at the gateway or of money that was held as unmatched. With a gateway that settles
 * directly the merchant already has the money.
 */
export function creditOf(
  app: PaymentsApp,
  { name, settlesDirectly }: Gateway,
  paid: Money,
  { from = 'gateway', reported }: { from?: 'gateway' | 'unmatched'; reported?: Money | undefined } = {},
): Credit {
  if (settlesDirectly) return { feeMinor: 0n, postings: directPostings(name, paid), settlementMinor: null }
  // Our table comes first: it is what the merchant agreed to.
  const fee = feeOf(app.settings.fees, name, paid) ?? reported ?? null
  const booked = fee ?? money(0n, paid.currency)
  return {
    feeMinor: fee?.minor ?? null,
    postings: from === 'gateway' ? capturePostings(name, paid, booked) : acceptedPostings(paid, booked),
    settlementMinor: paid.minor - booked.minor,
  }
}

/** Such money is owed to the payer: by us, or by the merchant if the gateway settles directly. */
function postingsOfUncredited(
  { name, settlesDirectly }: Gateway,
  status: ClosedAttempt['status'],
  paid: Money,
): Posting[] {
  if (settlesDirectly) return directPostings(name, paid)
  return status === 'duplicate_success' ? duplicatePostings(name, paid) : unmatchedPostings(name, paid)
}

/** Closes the attempt and opens its case in one transaction. */
export async function closeWithCase(
  app: PaymentsApp,
  { merchantId, id: paymentId }: PaymentRow,
  closing: ClosedAttempt,
  kind: CaseKind,
): Promise<boolean> {
  const { attemptId, failureMessage: message } = closing
  return app.db.transaction(async (tx) => {
    if (!(await closeAttempt(tx, closing))) return false
    await openCase(app, tx, { merchantId, kind, paymentId, attemptId, message })
    return true
  })
}

/** The method as the move writes it: a capture updates its last use. */
function withLastUse(method: MethodRow, now: Date): MethodRow {
  const isLater = method.lastUsedAt === null || method.lastUsedAt < now
  return isLater ? { ...method, lastUsedAt: now } : method
}

async function applyClose(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
  decision: Extract<Decision, { kind: 'close' }>,
  outcome: Outcome,
): Promise<PaymentWithAttempt | undefined> {
  const { payment, attempt } = current
  const { paid, caseKind } = decision
  const closing: ClosedAttempt = {
    merchantId: attempt.merchantId,
    attemptId: attempt.id,
    status: decision.attemptStatus,
    failureCode: decision.failure?.code ?? null,
    failureMessage: decision.failure?.message ?? null,
    paidMinor: decision.paid?.minor ?? null,
    paidCurrency: decision.paid?.currency ?? null,
    gatewayReference: decision.gatewayReference,
    receiptNumber: receiptNumberOf(outcome),
    dueAt: attempt.dueAt,
    nextPollAt: decision.attemptStatus === 'declined' ? declinedPollAt(app, current, gateway.behavior) : null,
    statusReason: decision.statusReason,
    entryId: paid && paid.minor > 0n ? app.random.uuid() : null,
    postings: paid ? postingsOfUncredited(gateway, decision.attemptStatus, paid) : [],
    at: app.clock.now(),
  }
  const closed = caseKind
    ? await closeWithCase(app, payment, closing, caseKind)
    : await closeAttempt(app.db, closing)
  if (!closed) return undefined
  if (decision.attemptStatus !== 'declined') {
    app.log.write('attempt.unexpected_payment', {
      merchantId: attempt.merchantId,
      paymentId: payment.id,
      attemptId: attempt.id,
      gateway: attempt.gateway,
      reason: decision.attemptStatus,
    })
  }
  return reload(app, current)
}
