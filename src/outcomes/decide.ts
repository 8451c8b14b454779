// Decides what an outcome changes: a pure function of payment, attempt and outcome, so that it can be tested and simulated
// without a database. Only this file consults the table of state transitions for outcomes.

import type { CaseKind } from '../cases/case-kinds.ts'
import type { FailureCode } from '../core/failures.ts'
import { equals, type Money, money } from '../core/money.ts'
import type { DisputeDecision, DisputeRow } from '../disputes/dispute.ts'
import type { DisputeReport, Outcome } from '../gateways/gateway.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { PaymentRow } from '../payments/payment.ts'
import {
  type AttemptStatus,
  canMove,
  isOpen,
  isUnpaid,
  type PaymentStatus,
  type Proof,
  type StatusReason,
} from '../payments/states.ts'

/** A checkout fails for good after this many declined attempts. */
export const MAX_ATTEMPTS = 5

/** A failover does not count: one action of the payer is one attempt, however many gateways it took. */
export function hasUsedAllAttempts({
  attemptsUsed,
  failovers,
}: Pick<PaymentRow, 'attemptsUsed' | 'failovers'>): boolean {
  return attemptsUsed - failovers >= MAX_ATTEMPTS
}

export type Decision =
  /** The outcome changes nothing: it was applied before, or it proves nothing yet. */
  | { kind: 'nothing' }
  /** The payment moves and the attempt ends. */
  | {
      kind: 'move'
      to: PaymentStatus
      proof: Proof
      attemptStatus: AttemptStatus
      failure: { code: FailureCode; message: string } | null
      paid: Money | null
      paidAt: Date | null
      gatewayReference: string | null
      /** Requires the caller's fence: the outcome is about one call, not about the gateway's record of the attempt. */
      fenced: boolean
    }
  /** The payment keeps its status; only the attempt ends. */
  | {
      kind: 'close'
      attemptStatus: 'declined' | 'amount_mismatch' | 'duplicate_success'
      failure: { code: FailureCode; message: string } | null
      paid: Money | null
      gatewayReference: string | null
      statusReason: StatusReason | null
      /** The case that a person must resolve; null for none. */
      caseKind: CaseKind | null
    }
  | DisputeDecision
  /** A dispute of a duplicate payment: the payment itself does not change. */
  | { kind: 'duplicate_dispute'; reports: readonly DisputeReport[] }

const NOTHING: Decision = { kind: 'nothing' }

export function decide(
  payment: PaymentRow,
  attempt: AttemptRow,
  outcome: Outcome,
  context: {
    firstCall: boolean
    canFailOver?: boolean
    isPageLost?: boolean
    disputes?: readonly DisputeRow[]
  },
): Decision {
  const { canFailOver } = context
  switch (outcome.kind) {
    case 'succeeded': {
      const { disputes: reports } = outcome
      if (reports && attempt.status === 'succeeded')
        return decideDisputes(payment, reports, context.disputes ?? [])
      return reports && attempt.status === 'duplicate_success'
        ? { kind: 'duplicate_dispute', reports }
        : decideSuccess(payment, attempt, outcome)
    }
    case 'declined': {
      const { code, message, gatewayReference, refused = false, final: isFinal } = outcome
      // A rejected request proves something about this call only: an earlier call may have succeeded.
      if (refused && !context.firstCall) return NOTHING
      return refused
        ? decideDecline(payment, attempt, code, message, gatewayReference, 'not_sent', { canFailOver })
        : decideDecline(payment, attempt, code, message, gatewayReference, 'declined', { isFinal })
    }
    case 'pending':
      return NOTHING
    case 'unknown':
      // No byte of the only call was sent, so the gateway cannot have acted.
      if (outcome.reason === 'not_sent' && context.firstCall)
        return decideUnavailable(payment, attempt, outcome.message, 'not_sent', canFailOver)
      return context.isPageLost && attempt.status === 'started'
        ? decideUnavailable(payment, attempt, outcome.message, 'page_lost', canFailOver)
        : NOTHING
  }
}

function decideSuccess(
  payment: PaymentRow,
  attempt: AttemptRow,
  outcome: Extract<Outcome, { kind: 'succeeded' }>,
): Decision {
  const { status } = attempt
  if (status === 'succeeded' || status === 'duplicate_success' || status === 'amount_mismatch') return NOTHING
  const facts = { failure: null, paid: outcome.paid, gatewayReference: outcome.gatewayReference }
  const expected = money(payment.amountMinor, payment.currency)
  if (outcome.key !== attempt.gatewayKey || !equals(outcome.paid, expected)) {
    const caseKind = mismatchOf(outcome.key === attempt.gatewayKey, outcome.paid, expected)
    // Money under another key belongs to another payment.
    const paid = caseKind === 'reference_mismatch' ? null : outcome.paid
    const reason = 'amount_mismatch'
    return { kind: 'close', attemptStatus: reason, statusReason: reason, ...facts, paid, caseKind }
  }
  if (!isUnpaid(payment.status)) {
    return { kind: 'close', attemptStatus: 'duplicate_success', statusReason: null, caseKind: null, ...facts }
  }
  return {
    kind: 'move',
    to: 'successful',
    proof: 'gateway',
    attemptStatus: 'succeeded',
    paidAt: outcome.paidAt,
    fenced: false,
    ...facts,
  }
}

function mismatchOf(isOurKey: boolean, paid: Money, expected: Money): CaseKind {
  if (!isOurKey) return 'reference_mismatch'
  if (paid.currency !== expected.currency) return 'currency_mismatch'
  return paid.minor < expected.minor ? 'underpaid' : 'overpaid'
}

/** The first report that changes something. Ended disputes come first, because only one dispute may be open. */
function decideDisputes(
  payment: PaymentRow,
  reports: readonly DisputeReport[],
  recorded: readonly DisputeRow[],
): Decision {
  const isStillOpen = ({ status }: DisputeReport) => status === 'open'
  const closedFirst = [...reports.filter((one) => !isStillOpen(one)), ...reports.filter(isStillOpen)]
  for (const report of closedFirst) {
    const decision = decideDispute(payment, report, recorded)
    if (decision.kind !== 'nothing') return decision
  }
  return NOTHING
}

/**
 * A dispute is opened once and closed once, in whatever order its reports arrive. One that has ended does not open again.
 * One that is won before we saw it open has held no money.
 */
function decideDispute(
  payment: PaymentRow,
  report: DisputeReport,
  recorded: readonly DisputeRow[],
): Decision {
  const existing = recorded.find(({ gatewayReference }) => gatewayReference === report.reference) ?? null
  const isOver = existing !== null && existing.status !== 'open'
  if (isOver || report.amount.currency !== payment.currency) return NOTHING
  const recordOnly = { kind: 'dispute', to: null, report, open: existing } as const
  const move = (to: 'disputed' | 'successful' | 'reversed') =>
    canMove(payment.status, to) ? ({ ...recordOnly, to } as const) : NOTHING
  if (report.status === 'won') return existing ? move('successful') : recordOnly
  // One dispute at a time holds the money; the next one is recorded when that one has ended.
  const hasOtherOpen = recorded.some((one) => one !== existing && one.status === 'open')
  if (hasOtherOpen || (existing && report.status === 'open')) return NOTHING
  if (report.status === 'open') return move('disputed')
  // A second lost dispute takes the amount that the first one left.
  if (payment.status === 'reversed') return recordOnly
  // The state table has no direct transition from a refunded payment to reversed: it goes through disputed.
  return canMove(payment.status, 'reversed') ? move('reversed') : move('disputed')
}

/** The gateway was not reached, or the page that it opened cannot be paid. */
function decideUnavailable(
  payment: PaymentRow,
  attempt: AttemptRow,
  message: string,
  proof: 'not_sent' | 'page_lost',
  canFailOver: boolean | undefined,
): Decision {
  const context = { canFailOver }
  const decision = decideDecline(payment, attempt, 'provider_unavailable', message, null, proof, context)
  // The payer does not wait for an attempt that is not the current one, so it is only polled on.
  return proof === 'page_lost' && decision.kind === 'close' ? NOTHING : decision
}

// An ended attempt is not declined again. A decline by the gateway may end an attempt that awaits manual review.
const DECLINABLE: AttemptStatus[] = ['started', 'awaiting_customer', 'requires_review']

function decideDecline(
  payment: PaymentRow,
  attempt: AttemptRow,
  code: FailureCode,
  message: string,
  gatewayReference: string | null,
  proof: 'declined' | 'not_sent' | 'page_lost',
  context: DeclineContext,
): Decision {
  if (!DECLINABLE.includes(attempt.status)) return NOTHING
  const failure = { code, message }
  const isCurrent = isOpen(payment.status) && attempt.number === payment.attemptsUsed
  const to = nextAfterDecline(payment, context)
  if (!isCurrent || !canMove(payment.status, to)) {
    return {
      kind: 'close',
      attemptStatus: 'declined',
      failure,
      paid: null,
      gatewayReference,
      statusReason: null,
      caseKind: null,
    }
  }
  return {
    kind: 'move',
    to,
    proof,
    attemptStatus: 'declined',
    failure,
    paid: null,
    paidAt: null,
    gatewayReference,
    fenced: proof !== 'declined',
  }
}

interface DeclineContext {
  canFailOver?: boolean
  /** The decline is about the payment, not about the payment method. */
  isFinal?: boolean
}

/** A checkout stays open until its attempts are used up; a charge has one attempt. */
function nextAfterDecline(payment: PaymentRow, { canFailOver, isFinal }: DeclineContext): PaymentStatus {
  if (payment.kind === 'charge' || isFinal) return 'failed'
  return canFailOver || !hasUsedAllAttempts(payment) ? 'pending' : 'failed'
}

/** Proof that the gateway began nothing: no byte was sent, or the gateway rejected the request. */
export function isNotSubmitted(outcome: Outcome): boolean {
  if (outcome.kind === 'unknown') return outcome.reason === 'not_sent'
  return outcome.kind === 'declined' && outcome.refused === true
}
