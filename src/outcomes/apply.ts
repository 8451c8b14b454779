// One settle. Verify, the customer's return, inbound webhooks and the resolver all come here with an outcome; the move,
// the ledger entry and the event are written by one statement that applies only while the payment is still as it was
// when this was decided. Two parallel proofs make one credit and one event.

import { type Money, money } from '../core/money.ts'
import { plainText, plainTexts } from '../core/plain-text.ts'
import type { MethodRow } from '../customers/method-queries.ts'
import { saveMethod } from '../customers/methods.ts'
import { applyDispute, tellOfUnbooked } from '../disputes/dispute.ts'
import { listDisputes } from '../disputes/dispute-queries.ts'
import { noteDuplicateDisputes } from '../disputes/duplicate-dispute.ts'
import type { Outcome, SavedMethod } from '../gateways/gateway.ts'
import { capturePostings, directPostings, duplicatePostings, feeOf, type Posting } from '../ledger/service.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, Known } from '../payments/attempt.ts'
import { listAttempts } from '../payments/attempt-queries.ts'
import { movePayment } from '../payments/move.ts'
import { closeAttempt } from '../payments/move-queries.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { findPayment } from '../payments/queries.ts'
import { isOpen, type MoveSource } from '../payments/states.ts'
import { methodOf } from '../payments/views.ts'
import { type Decision, decide } from './decide.ts'
import { openRecovery } from './recovery.ts'
import { watchAt } from './schedule.ts'

export interface SettleHow {
  source: MoveSource
  /** The outcome is of the very first call of this attempt. */
  firstCall?: boolean
  /** Another gateway takes over at once if this one provably began nothing. */
  failsOver?: boolean
}

// Each round lost means that another writer has moved the payment on; a payment has far fewer moves than this.
const MAX_ROUNDS = 10

export async function settle(app: PaymentsApp, known: Known, told: Outcome, how: SettleHow): Promise<Known> {
  let current = known
  const { merchantId, id: paymentId } = known.payment
  const outcome = cleaned(told)
  const reports = disputesOf(outcome)
  const rounds = MAX_ROUNDS + MOVES_PER_DISPUTE * reports.length
  for (let round = 0; round < rounds; round += 1) {
    // Who lost the attempt to the resolver meanwhile does not speak for the first call any more.
    const firstCall = (how.firstCall ?? false) && current.attempt.fence === known.attempt.fence
    const disputes = reports.length > 0 ? await listDisputes(app.db, merchantId, paymentId) : []
    const decision = decide(current.payment, current.attempt, outcome, {
      firstCall,
      failsOver: how.failsOver ?? false,
      disputes,
    })
    if (decision.kind === 'nothing') {
      tellOfUnbooked(app, current, reports, disputes)
      return current
    }
    if (decision.kind === 'duplicate_dispute') {
      await noteDuplicateDisputes(app, current.attempt, decision.reports)
      return current
    }
    const settled = await apply(app, current, decision, outcome, how)
    // What was paid and is disputed makes two moves: the money came before it was taken back.
    if (settled && reports.length === 0) return settled
    current = settled ?? (await reload(app, current))
  }
  throw new Error(`payment ${known.payment.id} moved ${rounds} times while one outcome was settled`)
}

// One that was never seen open may be opened and closed.
const MOVES_PER_DISPUTE = 2

const disputesOf = (outcome: Outcome) => (outcome.kind === 'succeeded' ? (outcome.disputes ?? []) : [])

function apply(
  app: PaymentsApp,
  known: Known,
  decision: Extract<Decision, { kind: 'move' | 'close' | 'dispute' }>,
  outcome: Outcome,
  how: SettleHow,
): Promise<Known | undefined> {
  switch (decision.kind) {
    case 'move':
      return applyDecision(app, known, decision, outcome, how)
    case 'close':
      return applyClosing(app, known, decision)
    case 'dispute':
      return applyDispute(app, known, decision, how.source)
  }
}

/** What a provider says of itself is kept, so it must be text that can be kept. */
function cleaned(outcome: Outcome): Outcome {
  if (outcome.kind === 'unknown') return { ...outcome, message: plainText(outcome.message) }
  const gatewayReference = outcome.gatewayReference === null ? null : plainText(outcome.gatewayReference)
  switch (outcome.kind) {
    case 'succeeded':
      return {
        ...outcome,
        gatewayReference: gatewayReference ?? '',
        savedMethod: outcome.savedMethod && cleanedMethod(outcome.savedMethod),
        ...(outcome.disputes && {
          disputes: outcome.disputes.map((one) => ({ ...one, reference: plainText(one.reference) })),
        }),
      }
    case 'declined':
      return { ...outcome, gatewayReference, message: plainText(outcome.message) }
    case 'pending':
      return { ...outcome, gatewayReference }
  }
}

/** The credential alone stays as it came: it is sealed, and the provider wants it back to the letter. */
function cleanedMethod(method: SavedMethod): SavedMethod {
  return { ...plainTexts(method), credential: method.credential }
}

export async function reload(app: PaymentsApp, known: Known): Promise<Known> {
  const { merchantId, id } = known.payment
  const [payment, attempts] = await Promise.all([
    findPayment(app.db, merchantId, id),
    listAttempts(app.db, merchantId, id),
  ])
  const attempt = attempts.find((one) => one.id === known.attempt.id)
  if (!payment || !attempt) throw new Error(`payment ${id} has vanished`)
  // The lease stays the caller's own: who rang since then has not been answered by the caller's question.
  return { payment, attempt: { ...attempt, dueAt: attempt.dueAt && known.attempt.dueAt } }
}

async function applyDecision(
  app: PaymentsApp,
  known: Known,
  decision: Extract<Decision, { kind: 'move' }>,
  outcome: Outcome,
  how: SettleHow,
): Promise<Known | undefined> {
  const { payment, attempt } = known
  const now = app.clock.now()
  const savedMethod = outcome.kind === 'succeeded' ? outcome.savedMethod : null
  // The method is kept before the move, so that the move can name it; keeping it twice is keeping it once.
  const { merchantId, customerId } = payment
  const owner = { merchantId, customerId, gateway: attempt.gateway, accountId: attempt.accountId }
  const kept = savedMethod
    ? await saveMethod(app, { ...owner, isRecurring: payment.isRecurring }, savedMethod)
    : (known.method ?? (await methodOf(app, payment)))
  const method = kept && decision.paid ? usedAt(kept, now) : kept
  const recovery = await openRecovery(app, payment, decision, method)
  const credit = decision.paid === null ? null : await creditOf(app, attempt, decision.paid)

  const next: PaymentRow = {
    ...payment,
    status: decision.to,
    // A decline that leaves the checkout open is told by the attempt; the payment itself has not failed.
    failureCode: decision.to === 'failed' ? (decision.failure?.code ?? null) : null,
    failureMessage: decision.to === 'failed' ? (decision.failure?.words ?? null) : null,
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
    failureMessage: decision.failure?.words ?? null,
    gatewayReference: decision.gatewayReference ?? attempt.gatewayReference,
    paidMinor: decision.paid?.minor ?? null,
    paidCurrency: decision.paid?.currency ?? null,
    endedAt: now,
    dueAt: decision.proof === 'declined' ? await watchTime(app, known) : null,
  }
  const moved = await movePayment(app, payment, next, {
    proof: decision.proof,
    source: how.source,
    method,
    attempt: nextAttempt,
    expectedFence: decision.fenced ? attempt.fence : null,
    attemptDueAt: attempt.dueAt,
    postings: credit?.postings,
    settleMinor: credit?.settleMinor,
  })
  return moved ? { payment: next, attempt: nextAttempt, method } : undefined
}

interface Credit {
  feeMinor: bigint
  postings: Posting[]
  /** What becomes available later; null where nothing is owed. */
  settleMinor: bigint | null
}

/** What a success is worth to the merchant: what the gateway holds for it, or what has reached it without us. */
async function creditOf(app: PaymentsApp, attempt: AttemptRow, paid: Money): Promise<Credit> {
  const { merchantId, gateway: name, accountId } = attempt
  const gateway = await app.gateways.find(merchantId, name, accountId)
  if (gateway?.settlesDirectly) {
    return { feeMinor: 0n, postings: directPostings(name, paid), settleMinor: null }
  }
  const fee = feeOf(app.settings.fees, name, paid)
  return {
    feeMinor: fee.minor,
    postings: capturePostings(name, paid, fee),
    settleMinor: paid.minor - fee.minor,
  }
}

/** What came twice is owed to the payer: by us, or by the merchant where it went there without us. */
async function duplicateOf(app: PaymentsApp, attempt: AttemptRow, paid: Money): Promise<Posting[]> {
  const { merchantId, gateway: name, accountId } = attempt
  const gateway = await app.gateways.find(merchantId, name, accountId)
  return gateway?.settlesDirectly ? directPostings(name, paid) : duplicatePostings(name, paid)
}

async function watchTime(app: PaymentsApp, known: Known): Promise<Date | null> {
  const { merchantId, gateway: name, accountId } = known.attempt
  const gateway = await app.gateways.find(merchantId, name, accountId)
  return watchAt(app, known, gateway?.recovery)
}

/** The method as the move leaves it: a capture is a use. */
function usedAt(method: MethodRow, now: Date): MethodRow {
  const isLater = method.lastUsedAt === null || method.lastUsedAt < now
  return isLater ? { ...method, lastUsedAt: now } : method
}

async function applyClosing(
  app: PaymentsApp,
  known: Known,
  decision: Extract<Decision, { kind: 'close' }>,
): Promise<Known | undefined> {
  const { payment, attempt } = known
  const isDuplicate = decision.attemptStatus === 'duplicate_success' && decision.paid !== null
  const paid = decision.paid ?? money(0n, payment.currency)
  const closed = await closeAttempt(app.db, {
    merchantId: attempt.merchantId,
    attemptId: attempt.id,
    status: decision.attemptStatus,
    failureCode: decision.failure?.code ?? null,
    failureMessage: decision.failure?.words ?? null,
    paidMinor: decision.paid?.minor ?? null,
    paidCurrency: decision.paid?.currency ?? null,
    gatewayReference: decision.gatewayReference,
    dueAt: attempt.dueAt,
    watchAt: decision.attemptStatus === 'declined' ? await watchTime(app, known) : null,
    statusReason: decision.statusReason,
    entryId: isDuplicate ? app.random.uuid() : null,
    postings: isDuplicate ? await duplicateOf(app, attempt, paid) : [],
    at: app.clock.now(),
  })
  if (!closed) return undefined
  if (decision.attemptStatus !== 'declined') {
    app.log.warn('an attempt needs a person', {
      merchantId: attempt.merchantId,
      paymentId: payment.id,
      attemptId: attempt.id,
      gateway: attempt.gateway,
      reason: decision.attemptStatus,
    })
  }
  return reload(app, known)
}
