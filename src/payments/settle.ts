// One settle. Verify, the customer's return, inbound webhooks and the resolver all come here with an outcome; the move,
// the ledger entry and the event are written by one statement that applies only while the payment is still as it was
// when this was decided. Two parallel proofs make one credit and one event.

import { money } from '../core/money.ts'
import { plainText, plainTexts } from '../core/plain-text.ts'
import { type MethodRow, saveMethod } from '../customers/service.ts'
import { toEventBody } from '../events/service.ts'
import type { Outcome, SavedMethod } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { capturePostings, duplicatePostings, feeOf, type Posting } from '../ledger/service.ts'
import type { PaymentsApp } from './app.ts'
import { type AttemptRow, listAttempts } from './attempt-queries.ts'
import { type Decision, decide } from './decide.ts'
import type { Known } from './known.ts'
import { findPayment, type PaymentRow } from './queries.ts'
import { openRecovery } from './recovery.ts'
import { watchAt } from './schedule.ts'
import { type AttemptInput, closeAttempt, type MoveInput } from './settle-queries.ts'
import { eventType, isOpen, type MoveSource, type PaymentStatus, type Proof } from './states.ts'
import { methodOf, showAtRest } from './views.ts'

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
  const outcome = cleaned(told)
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    // Who lost the attempt to the resolver meanwhile does not speak for the first call any more.
    const firstCall = (how.firstCall ?? false) && current.attempt.fence === known.attempt.fence
    const decision = decide(current.payment, current.attempt, outcome, {
      firstCall,
      failsOver: how.failsOver ?? false,
    })
    if (decision.kind === 'nothing') return current
    const settled =
      decision.kind === 'move'
        ? await applyDecision(app, current, decision, outcome, how)
        : await applyClosing(app, current, decision)
    if (settled) return settled
    current = await reload(app, current)
  }
  throw new Error(`payment ${known.payment.id} moved ${MAX_ROUNDS} times while one outcome was settled`)
}

/** What a provider says of itself is kept, so it must be text that can be kept. */
function cleaned(outcome: Outcome): Outcome {
  if (outcome.kind === 'unknown') return { ...outcome, words: plainText(outcome.words) }
  const gatewayReference = outcome.gatewayReference === null ? null : plainText(outcome.gatewayReference)
  switch (outcome.kind) {
    case 'succeeded':
      return {
        ...outcome,
        gatewayReference: gatewayReference ?? '',
        savedMethod: outcome.savedMethod && cleanedMethod(outcome.savedMethod),
      }
    case 'declined':
      return { ...outcome, gatewayReference, words: plainText(outcome.words) }
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
  const fee = decision.paid === null ? null : feeOf(app.settings.fees, attempt.gateway, decision.paid)

  const next: PaymentRow = {
    ...payment,
    status: decision.to,
    // A decline that leaves the checkout open is told by the attempt; the payment itself has not failed.
    failureCode: decision.to === 'failed' ? (decision.failure?.code ?? null) : null,
    failureWords: decision.to === 'failed' ? (decision.failure?.words ?? null) : null,
    statusReason: null,
    version: payment.version + 1,
    gateway: attempt.gateway,
    amountPaidMinor: decision.paid?.minor ?? payment.amountPaidMinor,
    feeMinor: fee?.minor ?? payment.feeMinor,
    paidAt: decision.paidAt ?? payment.paidAt,
    paymentMethodId: method?.id ?? payment.paymentMethodId,
    recoveryPaymentId: recovery?.id ?? payment.recoveryPaymentId,
    dueAt: isOpen(decision.to) ? payment.expiresAt : null,
  }
  const nextAttempt: AttemptRow = {
    ...attempt,
    status: decision.attemptStatus,
    failureCode: decision.failure?.code ?? null,
    failureWords: decision.failure?.words ?? null,
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
    postings: decision.paid && fee ? capturePostings(attempt.gateway, decision.paid, fee) : null,
    settleMinor: decision.paid && fee ? decision.paid.minor - fee.minor : null,
  })
  return moved ? { payment: next, attempt: nextAttempt, method } : undefined
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

export interface MoveFacts {
  proof: Proof | null
  source: MoveSource
  method?: MethodRow | null
  /** The attempt that ends with this move, as it will be. */
  attempt?: AttemptRow
  /** The attempt that starts with this move. */
  newAttempt?: AttemptRow
  expectedFence?: number | null
  /** When the attempt that ends was due as the caller saw it. */
  attemptDueAt?: Date | null
  postings?: Posting[] | null
  settleMinor?: bigint | null
}

/** Writes a move. False when the payment was not as the caller had seen it. */
export async function movePayment(
  app: PaymentsApp,
  from: PaymentRow,
  to: PaymentRow,
  facts: MoveFacts,
): Promise<boolean> {
  // The very moment in which its attempt ends or begins, so that the event and the record tell the same time.
  const now = facts.attempt?.endedAt ?? facts.newAttempt?.startedAt ?? app.clock.now()
  const attempts = from.kind === 'charge' ? [] : await listAttempts(app.db, from.merchantId, from.id)
  const shownAttempts = attempts.map((one) => (one.id === facts.attempt?.id ? facts.attempt : one))
  if (facts.newAttempt) shownAttempts.push(facts.newAttempt)
  const eventId = app.random.uuid()
  const type = eventType(to.kind, to.status)
  const input: MoveInput = {
    merchant_id: from.merchantId,
    payment_id: from.id,
    from_status: from.status,
    to_status: to.status,
    expected_version: from.version,
    status_reason: to.statusReason,
    proof: facts.proof,
    source: facts.source,
    failure_code: to.failureCode,
    failure_words: to.failureWords,
    paid_minor: facts.attempt?.paidMinor == null ? null : String(facts.attempt.paidMinor),
    paid_currency: facts.attempt?.paidCurrency ?? null,
    fee_minor: to.feeMinor === null ? null : String(to.feeMinor),
    paid_at: to.paidAt,
    gateway: to.gateway,
    payment_method_id: to.paymentMethodId,
    recovery_payment_id: to.recoveryPaymentId,
    expected_expires_at: to.status === 'expired' ? from.expiresAt : null,
    attempt_id: facts.attempt?.id ?? null,
    attempt_status: facts.attempt?.status ?? null,
    attempt_failure_code: facts.attempt?.failureCode ?? null,
    attempt_failure_words: facts.attempt?.failureWords ?? null,
    expected_fence: facts.expectedFence ?? null,
    attempt_due_at: facts.attemptDueAt ?? null,
    attempt_watch_at: facts.attempt?.dueAt ?? null,
    gateway_reference: facts.attempt?.gatewayReference ?? null,
    new_attempt: facts.newAttempt ? toAttemptInput(facts.newAttempt) : null,
    failovers: to.failovers,
    entry_id: facts.postings ? app.random.uuid() : null,
    entry_kind: facts.postings ? 'capture' : null,
    postings: facts.postings ?? [],
    settle_minor: facts.settleMinor == null ? null : String(facts.settleMinor),
    settle_due_at: facts.settleMinor == null ? null : addMs(now, app.settings.settlementMs),
    event_id: eventId,
    event_type: type,
    event_body: toEventBody({
      id: eventId,
      type,
      mode: app.settings.mode,
      createdAt: now,
      resource: { type: to.kind === 'charge' ? 'charge' : 'payment', uuid: to.id, version: to.version },
      data: showAtRest(app, to, shownAttempts, facts.method ?? null),
    }),
    at: now,
  }
  const moved = await app.writers.move(input)
  if (moved) {
    const { merchantId, id: paymentId, gateway } = to
    app.log.info('payment moved', { merchantId, paymentId, gateway, status: to.status, reason: facts.source })
  }
  return moved
}

function toAttemptInput(attempt: AttemptRow): AttemptInput {
  const { id, number, operation, gateway, accountId, gatewayKey, channel, choice, dueAt } = attempt
  const account = { account_id: accountId, gateway_key: gatewayKey }
  return { id, number, operation, gateway, ...account, channel, choice, due_at: dueAt }
}

/** A move that no attempt takes part in: the payer left, or the time is up. */
export function plainMove(payment: PaymentRow, status: PaymentStatus): PaymentRow {
  const dueAt = isOpen(status) ? payment.expiresAt : null
  return { ...payment, status, statusReason: null, version: payment.version + 1, dueAt }
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
    failureWords: decision.failure?.words ?? null,
    paidMinor: decision.paid?.minor ?? null,
    paidCurrency: decision.paid?.currency ?? null,
    gatewayReference: decision.gatewayReference,
    dueAt: attempt.dueAt,
    watchAt: decision.attemptStatus === 'declined' ? await watchTime(app, known) : null,
    statusReason: decision.statusReason,
    entryId: isDuplicate ? app.random.uuid() : null,
    postings: isDuplicate ? duplicatePostings(attempt.gateway, paid) : [],
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
