// The one way to move a payment, which is a state transition: it writes the payment, its attempt, the ledger and the event
// together.

import type { MethodRow } from '../customers/method.ts'
import { packEvent } from '../events/packed.ts'
import { API_VERSION } from '../events/service.ts'
import { addMs } from '../kit/clock.ts'
import { afterCommit, type Tx } from '../kit/db/db.ts'
import type { Posting } from '../ledger/service.ts'
import type { PaymentsApp } from './app.ts'
import { ATTEMPT, type AttemptRow, NEW_ATTEMPT } from './attempt.ts'
import { listAttempts } from './find.ts'
import { measureMove } from './measure.ts'
import { applyMoves, type MoveInput } from './move-queries.ts'
import type { PaymentRow } from './payment.ts'
import {
  eventType,
  isOpen,
  type MoveSource,
  type PaymentStatus,
  type Proof,
  type StatusReason,
} from './states.ts'
import { serializeRedacted } from './views.ts'

interface Cause {
  proof: Proof | null
  source: MoveSource
  method?: MethodRow | null
}

interface EndedAttempt {
  /** The attempt as the move leaves it. */
  attempt: AttemptRow
  /** The fence that the attempt must still have; null where the outcome counts without the lease. */
  expectedFence: number | null
  /** When the attempt was due as the caller read it. */
  readDueAt: Date | null
}

export type Move = Cause &
  (
    | {
        /** No attempt takes part, such as a refund or an expiry. */
        kind: 'plain'
        /** When the payment expired as the caller read it: the move is not written if that has changed. */
        expectedExpiresAt?: Date | null
      }
    | { kind: 'attempt_started'; attempt: AttemptRow }
    | ({ kind: 'attempt_ended' } & EndedAttempt)
    | ({
        kind: 'captured'
        postings: Posting[]
        /** The amount that becomes available to the merchant later; null where nothing is owed. */
        settlementMinor: bigint | null
      } & EndedAttempt)
  )

/** False when the payment has changed since the caller read it. Concurrent callers share one commit. */
export async function movePayment(
  app: PaymentsApp,
  from: PaymentRow,
  to: PaymentRow,
  move: Move,
): Promise<boolean> {
  const moved = await app.writers.move(await toMoveInput(app, app.db, from, to, move))
  if (moved) reportMove(app, from, to, move)
  return moved
}

/** The same in the caller's transaction. */
export async function movePaymentWithin(
  tx: Tx,
  app: PaymentsApp,
  from: PaymentRow,
  to: PaymentRow,
  move: Move,
): Promise<boolean> {
  const [moved = false] = await applyMoves(tx, [await toMoveInput(app, tx, from, to, move)])
  if (moved) afterCommit(tx, () => reportMove(app, from, to, move))
  return moved
}

function reportMove(app: PaymentsApp, from: PaymentRow, to: PaymentRow, move: Move): void {
  const { merchantId, id, gateway, status } = to
  app.log.write('payment.moved', { merchantId, paymentId: id, gateway, status, reason: move.source })
  const hasEnded = move.kind === 'attempt_ended' || move.kind === 'captured'
  measureMove(app, from, to, hasEnded ? move.attempt : null)
}

async function toMoveInput(
  app: PaymentsApp,
  db: Tx,
  from: PaymentRow,
  to: PaymentRow,
  move: Move,
): Promise<MoveInput> {
  const at = timeOf(move) ?? app.clock.now()
  const attempts = await attemptsAfter(db, from, move)
  const envelope = { apiVersion: API_VERSION, mode: app.settings.mode }
  return {
    merchantId: from.merchantId,
    paymentId: from.id,
    fromStatus: from.status,
    toStatus: to.status,
    expectedVersion: from.version,
    expectsReview: from.statusReason === 'needs_review' || from.statusReason === 'requires_review',
    statusReason: to.statusReason,
    proof: move.proof,
    source: move.source,
    failureCode: to.failureCode,
    failureMessage: to.failureMessage,
    feeMinor: to.feeMinor,
    paidAt: to.paidAt,
    gateway: to.gateway,
    channel: to.channel,
    paymentMethodId: to.paymentMethodId,
    recoveryPaymentId: to.recoveryPaymentId,
    expectedExpiresAt: expectedExpiry(from, to, move),
    ...endedAttempt(move),
    newAttempt: move.kind === 'attempt_started' ? ATTEMPT.toRecord(move.attempt, NEW_ATTEMPT) : null,
    failovers: to.failovers,
    ...capture(app, move, at),
    eventId: app.random.uuid(),
    eventType: eventType(to.kind, to.status),
    eventPacked: packEvent(envelope, serializeRedacted(app, to, attempts, move.method ?? null)),
    at,
  }
}

/** The time at which the attempt starts or ends, so that the event has the same time as the record. */
function timeOf(move: Move): Date | null {
  if (move.kind === 'plain') return null
  return move.kind === 'attempt_started' ? move.attempt.startedAt : move.attempt.endedAt
}

async function attemptsAfter(
  db: Tx,
  { kind, merchantId, id }: PaymentRow,
  move: Move,
): Promise<AttemptRow[]> {
  // A charge has one attempt, which the move brings.
  if (kind === 'charge' && move.kind !== 'plain') return [move.attempt]
  const attempts = await listAttempts(db, merchantId, id)
  if (move.kind === 'plain') return attempts
  const { attempt } = move
  if (move.kind === 'attempt_started') return [...attempts, attempt]
  return attempts.map((one) => (one.id === attempt.id ? attempt : one))
}

/** An expiry depends on the time of the expiry, which the payer may have extended meanwhile. */
function expectedExpiry(from: PaymentRow, to: PaymentRow, move: Move): Date | null {
  const expected = move.kind === 'plain' ? move.expectedExpiresAt : null
  return expected ?? (to.status === 'expired' ? from.expiresAt : null)
}

const NO_ENDED_ATTEMPT = {
  attemptId: null,
  attemptStatus: null,
  attemptFailureCode: null,
  attemptFailureMessage: null,
  attemptDueAt: null,
  attemptNextPollAt: null,
  expectedFence: null,
  gatewayReference: null,
  receiptNumber: null,
  paidMinor: null,
  paidCurrency: null,
} as const

function endedAttempt(move: Move): Pick<MoveInput, keyof typeof NO_ENDED_ATTEMPT> {
  if (move.kind === 'plain' || move.kind === 'attempt_started') return NO_ENDED_ATTEMPT
  const { attempt, expectedFence, readDueAt } = move
  return {
    attemptId: attempt.id,
    attemptStatus: attempt.status,
    attemptFailureCode: attempt.failureCode,
    attemptFailureMessage: attempt.failureMessage,
    attemptDueAt: readDueAt,
    attemptNextPollAt: attempt.dueAt,
    expectedFence,
    gatewayReference: attempt.gatewayReference,
    receiptNumber: attempt.receiptNumber,
    paidMinor: attempt.paidMinor,
    paidCurrency: attempt.paidCurrency,
  }
}

const NO_CAPTURE = {
  entryId: null,
  entryKind: null,
  postings: [],
  settlementMinor: null,
  settlementDueAt: null,
}

function capture(app: PaymentsApp, move: Move, at: Date): Pick<MoveInput, keyof typeof NO_CAPTURE> {
  if (move.kind !== 'captured') return NO_CAPTURE
  const { postings, settlementMinor } = move
  return {
    entryId: app.random.uuid(),
    entryKind: 'capture',
    postings,
    settlementMinor,
    settlementDueAt: settlementMinor === null ? null : addMs(at, app.settings.settlementMs),
  }
}

/** The payment after a move in which no attempt takes part. */
export function plainMove(
  payment: PaymentRow,
  status: PaymentStatus,
  statusReason: StatusReason | null = null,
): PaymentRow {
  const dueAt = isOpen(status) ? payment.expiresAt : null
  return { ...payment, status, statusReason, version: payment.version + 1, dueAt }
}
