// What an outcome means for a payment: a pure function of what is known, so that it can be read, tested and simulated
// without a database. It alone asks the state table.

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
} from '../payments/states.ts'

/** One checkout, many attempts; after so many declines it fails for good. */
export const MAX_ATTEMPTS = 5

/** Failovers are not the payer's doing and do not count: one press is one attempt, however many gateways it took. */
export function hasUsedAllAttempts({
  attemptsUsed,
  failovers,
}: Pick<PaymentRow, 'attemptsUsed' | 'failovers'>): boolean {
  return attemptsUsed - failovers >= MAX_ATTEMPTS
}

export type Decision =
  /** Nothing new: the same proof came before, or there is no proof yet. */
  | { kind: 'nothing' }
  /** The payment moves, and its attempt with it. */
  | {
      kind: 'move'
      to: PaymentStatus
      proof: Proof
      attemptStatus: AttemptStatus
      failure: { code: FailureCode; message: string } | null
      paid: Money | null
      paidAt: Date | null
      gatewayReference: string | null
      /** Only who holds the attempt may say this: it is about one call, not about the gateway's books. */
      fenced: boolean
    }
  /** The payment stays where it is; only the attempt has come to an end. */
  | {
      kind: 'close'
      attemptStatus: 'declined' | 'amount_mismatch' | 'duplicate_success'
      failure: { code: FailureCode; message: string } | null
      paid: Money | null
      gatewayReference: string | null
      statusReason: string | null
    }
  | DisputeDecision

  /** A chargeback about money that came twice: the payment has no part in it. */
  | { kind: 'duplicate_dispute'; reports: readonly DisputeReport[] }

const NOTHING: Decision = { kind: 'nothing' }

export function decide(
  payment: PaymentRow,
  attempt: AttemptRow,
  outcome: Outcome,
  context: { firstCall: boolean; canFailOver?: boolean; disputes?: readonly DisputeRow[] },
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
      // That a gateway would not even begin says something about this one call: an earlier one may have got through.
      if (refused && !context.firstCall) return NOTHING
      return refused
        ? decideDecline(payment, attempt, code, message, gatewayReference, 'not_sent', { canFailOver })
        : decideDecline(payment, attempt, code, message, gatewayReference, 'declined', { isFinal })
    }
    case 'pending':
      return NOTHING
    case 'unknown':
      // No byte of the one call that was ever made has left us, so the gateway cannot have acted.
      if (outcome.reason !== 'not_sent' || !context.firstCall) return NOTHING
      return decideDecline(payment, attempt, 'provider_unavailable', outcome.message, null, 'not_sent', {
        canFailOver,
      })
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
    return { kind: 'close', attemptStatus: 'amount_mismatch', statusReason: 'amount_mismatch', ...facts }
  }
  if (!isUnpaid(payment.status)) {
    return { kind: 'close', attemptStatus: 'duplicate_success', statusReason: null, ...facts }
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

/** Of all that the gateway tells, the first that means something: those that have ended make room for the next. */
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
 * A dispute is opened and closed once, in whatever order its news arrives: one that has ended does not open again, and one
 * that was never seen open has taken nothing if it was won.
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
  // One at a time holds the money: the next one's turn comes when that has been decided.
  const hasOtherOpen = recorded.some((one) => one !== existing && one.status === 'open')
  if (hasOtherOpen || (existing && report.status === 'open')) return NOTHING
  if (report.status === 'open') return move('disputed')
  // A second loss takes what the first has left.
  if (payment.status === 'reversed') return recordOnly
  // Where something was refunded the way leads through the dispute.
  return canMove(payment.status, 'reversed') ? move('reversed') : move('disputed')
}

// What is over is not declined again; what waits for a person may be settled by the gateway's own word.
const DECLINABLE: AttemptStatus[] = ['started', 'awaiting_customer', 'requires_review']

function decideDecline(
  payment: PaymentRow,
  attempt: AttemptRow,
  code: FailureCode,
  message: string,
  gatewayReference: string | null,
  proof: 'declined' | 'not_sent',
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
    fenced: proof === 'not_sent',
  }
}

interface DeclineContext {
  canFailOver?: boolean
  /** The decline is about the payment, not about this way to pay. */
  isFinal?: boolean
}

/** A checkout may be tried again until its attempts are used up; a charge has one attempt. */
function nextAfterDecline(payment: PaymentRow, { canFailOver, isFinal }: DeclineContext): PaymentStatus {
  if (payment.kind === 'charge' || isFinal) return 'failed'
  return canFailOver || !hasUsedAllAttempts(payment) ? 'pending' : 'failed'
}

/** Nothing was begun, by proof: no byte left us, or the gateway refused the request itself. */
export function isNotSubmitted(outcome: Outcome): boolean {
  if (outcome.kind === 'unknown') return outcome.reason === 'not_sent'
  return outcome.kind === 'declined' && outcome.refused === true
}
