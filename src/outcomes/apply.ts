// One settle. Verify, the customer's return, inbound webhooks and the resolver all come here with an outcome; the move,
// the ledger entry and the event are written by one statement that applies only while the payment is still as it was
// when this was decided. Two parallel proofs make one credit and one event.

import { type Money, money } from '../core/money.ts'
import { sanitizeText, sanitizeTexts } from '../core/sanitize-text.ts'
import type { MethodRow } from '../customers/method.ts'
import { saveMethod } from '../customers/methods.ts'
import { applyDispute, logUnrecordedDisputes } from '../disputes/apply-dispute.ts'
import { recordDuplicateDisputes } from '../disputes/duplicate-dispute.ts'
import { listDisputes } from '../disputes/find.ts'
import type { Gateway, Outcome, SavedMethod } from '../gateways/gateway.ts'
import { capturePostings, directPostings, duplicatePostings, feeOf, type Posting } from '../ledger/service.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { type Move, movePayment } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOpen, type MoveSource } from '../payments/states.ts'
import { closeAttempt } from '../payments/update-attempt.ts'
import { methodOf } from '../payments/views.ts'
import { type Decision, decide } from './decide.ts'
import { openRecovery } from './recovery.ts'
import { declinedPollAt } from './schedule.ts'

export interface OutcomeContext {
  source: MoveSource
  /** The outcome is of the very first call of this attempt. */
  firstCall?: boolean
  /** Another gateway takes over at once if this one provably began nothing. */
  canFailOver?: boolean
}

// Each round lost means that another writer has moved the payment on; a payment has far fewer moves than this.
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
  const outcome = sanitized(reported)
  const reports = disputesOf(outcome)
  const rounds = MAX_ROUNDS + MOVES_PER_DISPUTE * reports.length
  for (let round = 0; round < rounds; round += 1) {
    // Who lost the attempt to the resolver meanwhile does not speak for the first call any more.
    const firstCall = (context.firstCall ?? false) && current.attempt.fence === initial.attempt.fence
    const disputes = reports.length > 0 ? await listDisputes(app.db, merchantId, paymentId) : []
    const decision = decide(current.payment, current.attempt, outcome, {
      firstCall,
      canFailOver: context.canFailOver ?? false,
      disputes,
    })
    if (decision.kind === 'nothing') {
      logUnrecordedDisputes(app, current, reports, disputes)
      return current
    }
    if (decision.kind === 'duplicate_dispute') {
      await recordDuplicateDisputes(app, gateway, current.attempt, decision.reports)
      return current
    }
    const applied = await applyDecision(app, gateway, current, decision, outcome, context)
    // What was paid and is disputed makes two moves: the money came before it was taken back.
    if (applied && reports.length === 0) return applied
    current = applied ?? (await reload(app, current))
  }
  throw new Error(`payment ${initial.payment.id} moved ${rounds} times while one outcome was settled`)
}

// One that was never seen open may be opened and closed.
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
      return applyClose(app, gateway, current, decision)
    case 'dispute':
      return applyDispute(app, current, decision, context.source)
  }
}

/** What a provider says of itself is kept, so it must be text that can be kept. */
function sanitized(outcome: Outcome): Outcome {
  if (outcome.kind === 'unknown') return { ...outcome, message: sanitizeText(outcome.message) }
  const gatewayReference = outcome.gatewayReference === null ? null : sanitizeText(outcome.gatewayReference)
  switch (outcome.kind) {
    case 'succeeded':
      return {
        ...outcome,
        gatewayReference: gatewayReference ?? '',
        savedMethod: outcome.savedMethod && sanitizedMethod(outcome.savedMethod),
        ...(outcome.disputes && {
          disputes: outcome.disputes.map((one) => ({ ...one, reference: sanitizeText(one.reference) })),
        }),
      }
    case 'declined':
      return { ...outcome, gatewayReference, message: sanitizeText(outcome.message) }
    case 'pending':
      return { ...outcome, gatewayReference }
  }
}

/** The credential alone stays as it came: it is sealed, and the provider wants it back to the letter. */
function sanitizedMethod(method: SavedMethod): SavedMethod {
  return { ...sanitizeTexts(method), credential: method.credential }
}

export async function reload(app: PaymentsApp, stale: PaymentWithAttempt): Promise<PaymentWithAttempt> {
  const { merchantId, id } = stale.payment
  const [payment, attempts] = await Promise.all([
    findPayment(app.db, merchantId, id),
    listAttempts(app.db, merchantId, id),
  ])
  const attempt = attempts.find((one) => one.id === stale.attempt.id)
  if (!payment || !attempt) throw new Error(`payment ${id} has vanished`)
  // The lease stays the caller's own: who rang since then has not been answered by the caller's question.
  return { payment, attempt: { ...attempt, dueAt: attempt.dueAt && stale.attempt.dueAt } }
}

async function applyMove(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
  decision: Extract<Decision, { kind: 'move' }>,
  outcome: Outcome,
  context: OutcomeContext,
): Promise<PaymentWithAttempt | undefined> {
  const { payment, attempt } = current
  const now = app.clock.now()
  const savedMethod = outcome.kind === 'succeeded' ? outcome.savedMethod : null
  // The method is kept before the move, so that the move can name it; keeping it twice is keeping it once.
  const { merchantId, customerId } = payment
  const owner = { merchantId, customerId, gateway: attempt.gateway, accountId: attempt.accountId }
  const saved = savedMethod
    ? await saveMethod(app, { ...owner, isRecurring: payment.isRecurring }, savedMethod)
    : (current.method ?? (await methodOf(app, payment)))
  const method = saved && decision.paid ? withLastUse(saved, now) : saved
  const recovery = await openRecovery(app, payment, decision, method)
  const credit = decision.paid === null ? null : creditOf(app, gateway, decision.paid)

  const next: PaymentRow = {
    ...payment,
    status: decision.to,
    // A decline that leaves the checkout open is told by the attempt; the payment itself has not failed.
    failureCode: decision.to === 'failed' ? (decision.failure?.code ?? null) : null,
    failureMessage: decision.to === 'failed' ? (decision.failure?.message ?? null) : null,
    statusReason: null,
    version: payment.version + 1,
    gateway: attempt.gateway,
    amountPaidMinor: decision.paid?.minor ?? payment.amountPaidMinor,
    feeMinor: credit?.feeMinor ?? payment.feeMinor,
    paidAt: decision.paidAt ?? payment.paidAt,
    paymentMethodId: method?.id ?? payment.paymentMethodId,
    recoveryPaymentId: recovery?.id ?? payment.recoveryPaymentId,
    dueAt: isOpen(decision.to) ? payment.expiresAt : null,
  }
  const nextAttempt: AttemptRow = {
    ...attempt,
    status: decision.attemptStatus,
    failureCode: decision.failure?.code ?? null,
    failureMessage: decision.failure?.message ?? null,
    gatewayReference: decision.gatewayReference ?? attempt.gatewayReference,
    paidMinor: decision.paid?.minor ?? null,
    paidCurrency: decision.paid?.currency ?? null,
    endedAt: now,
    dueAt: decision.proof === 'declined' ? declinedPollAt(app, current, gateway.recovery) : null,
  }
  const ended = {
    proof: decision.proof,
    source: context.source,
    method,
    attempt: nextAttempt,
    expectedFence: decision.fenced ? attempt.fence : null,
    readDueAt: attempt.dueAt,
  }
  const move: Move = credit ? { kind: 'captured', ...ended, ...credit } : { kind: 'attempt_ended', ...ended }
  const moved = await movePayment(app, payment, next, move)
  return moved ? { payment: next, attempt: nextAttempt, method } : undefined
}

interface Credit {
  feeMinor: bigint
  postings: Posting[]
  /** What becomes available later; null where nothing is owed. */
  settlementMinor: bigint | null
}

/** What a success is worth to the merchant: what the gateway holds for it, or what has reached it without us. */
function creditOf(app: PaymentsApp, { name, settlesDirectly }: Gateway, paid: Money): Credit {
  if (settlesDirectly) return { feeMinor: 0n, postings: directPostings(name, paid), settlementMinor: null }
  const fee = feeOf(app.settings.fees, name, paid)
  return {
    feeMinor: fee.minor,
    postings: capturePostings(name, paid, fee),
    settlementMinor: paid.minor - fee.minor,
  }
}

/** What came twice is owed to the payer: by us, or by the merchant where it went there without us. */
function postingsOfDuplicate({ name, settlesDirectly }: Gateway, paid: Money): Posting[] {
  return settlesDirectly ? directPostings(name, paid) : duplicatePostings(name, paid)
}

/** The method as the move leaves it: a capture is a use. */
function withLastUse(method: MethodRow, now: Date): MethodRow {
  const isLater = method.lastUsedAt === null || method.lastUsedAt < now
  return isLater ? { ...method, lastUsedAt: now } : method
}

async function applyClose(
  app: PaymentsApp,
  gateway: Gateway,
  current: PaymentWithAttempt,
  decision: Extract<Decision, { kind: 'close' }>,
): Promise<PaymentWithAttempt | undefined> {
  const { payment, attempt } = current
  const isDuplicate = decision.attemptStatus === 'duplicate_success' && decision.paid !== null
  const paid = decision.paid ?? money(0n, payment.currency)
  const closed = await closeAttempt(app.db, {
    merchantId: attempt.merchantId,
    attemptId: attempt.id,
    status: decision.attemptStatus,
    failureCode: decision.failure?.code ?? null,
    failureMessage: decision.failure?.message ?? null,
    paidMinor: decision.paid?.minor ?? null,
    paidCurrency: decision.paid?.currency ?? null,
    gatewayReference: decision.gatewayReference,
    dueAt: attempt.dueAt,
    nextPollAt: decision.attemptStatus === 'declined' ? declinedPollAt(app, current, gateway.recovery) : null,
    statusReason: decision.statusReason,
    entryId: isDuplicate ? app.random.uuid() : null,
    postings: isDuplicate ? postingsOfDuplicate(gateway, paid) : [],
    at: app.clock.now(),
  })
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
