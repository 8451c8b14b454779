// The one way to write a move: what the payment, its attempt and the books become, with the event that tells of it.

import type { MethodRow } from '../customers/method.ts'
import { toEventBody } from '../events/service.ts'
import { addMs } from '../kit/clock.ts'
import type { Tx } from '../kit/db.ts'
import type { Posting } from '../ledger/service.ts'
import type { PaymentsApp } from './app.ts'
import type { AttemptRow } from './attempt.ts'
import { listAttempts } from './find.ts'
import { type AttemptInput, applyMoves, type MoveInput } from './move-queries.ts'
import type { PaymentRow } from './payment.ts'
import { eventType, isOpen, type MoveSource, type PaymentStatus, type Proof } from './states.ts'
import { serializeRedacted } from './views.ts'

export interface MoveFacts {
  proof: Proof | null
  source: MoveSource
  method?: MethodRow | null
  /** When the checkout was to end before the caller asked about it: money that is said to be sent since has moved that on. */
  endsAt?: Date | null
  /** The attempt that ends with this move, as it will be. */
  attempt?: AttemptRow
  /** The attempt that starts with this move. */
  newAttempt?: AttemptRow
  expectedFence?: number | null
  /** When the attempt that ends was due as the caller saw it. */
  attemptDueAt?: Date | null
  postings?: Posting[] | null
  settlementMinor?: bigint | null
}

/** Writes a move, by itself or in a transaction. False when the payment was not as the caller had seen it. */
export async function movePayment(
  app: PaymentsApp,
  from: PaymentRow,
  to: PaymentRow,
  facts: MoveFacts,
  tx?: Tx,
): Promise<boolean> {
  // The very moment in which its attempt ends or begins, so that the event and the record tell the same time.
  const now = facts.attempt?.endedAt ?? facts.newAttempt?.startedAt ?? app.clock.now()
  const attempts = from.kind === 'charge' ? [] : await listAttempts(tx ?? app.db, from.merchantId, from.id)
  const attemptsAfter = attempts.map((one) => (one.id === facts.attempt?.id ? facts.attempt : one))
  if (facts.newAttempt) attemptsAfter.push(facts.newAttempt)
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
    failure_message: to.failureMessage,
    paid_minor: facts.attempt?.paidMinor == null ? null : String(facts.attempt.paidMinor),
    paid_currency: facts.attempt?.paidCurrency ?? null,
    fee_minor: to.feeMinor === null ? null : String(to.feeMinor),
    paid_at: to.paidAt,
    gateway: to.gateway,
    payment_method_id: to.paymentMethodId,
    recovery_payment_id: to.recoveryPaymentId,
    expected_expires_at: facts.endsAt ?? (to.status === 'expired' ? from.expiresAt : null),
    attempt_id: facts.attempt?.id ?? null,
    attempt_status: facts.attempt?.status ?? null,
    attempt_failure_code: facts.attempt?.failureCode ?? null,
    attempt_failure_message: facts.attempt?.failureMessage ?? null,
    expected_fence: facts.expectedFence ?? null,
    attempt_due_at: facts.attemptDueAt ?? null,
    attempt_next_poll_at: facts.attempt?.dueAt ?? null,
    gateway_reference: facts.attempt?.gatewayReference ?? null,
    new_attempt: facts.newAttempt ? toAttemptInput(facts.newAttempt) : null,
    failovers: to.failovers,
    entry_id: facts.postings ? app.random.uuid() : null,
    entry_kind: facts.postings ? 'capture' : null,
    postings: facts.postings ?? [],
    settlement_minor: facts.settlementMinor == null ? null : String(facts.settlementMinor),
    settlement_due_at: facts.settlementMinor == null ? null : addMs(now, app.settings.settlementMs),
    event_id: eventId,
    event_type: type,
    event_body: toEventBody({
      id: eventId,
      type,
      mode: app.settings.mode,
      createdAt: now,
      resource: { type: to.kind === 'charge' ? 'charge' : 'payment', uuid: to.id, version: to.version },
      data: serializeRedacted(app, to, attemptsAfter, facts.method ?? null),
    }),
    at: now,
  }
  const moved = tx ? (await applyMoves(tx, [input]))[0] === true : await app.writers.move(input)
  if (moved) {
    const { merchantId, id: paymentId, gateway } = to
    app.log.write('payment.moved', {
      merchantId,
      paymentId,
      gateway,
      status: to.status,
      reason: facts.source,
    })
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
