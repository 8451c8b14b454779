// The effects of resolutions on payments. Each runs in the transaction that closes the case, under the locks of the attempt
// and the payment, so the state that it reads cannot change.

import type { CaseDetails } from '../cases/case.ts'
import { isCurrency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import { DECIDED_FAILURES, type DecidedFailure } from '../core/failures.ts'
import { type Money, money } from '../core/money.ts'
import type { MethodRow } from '../customers/method.ts'
import { releaseHeldMoney, unscheduleDuplicateRefund } from '../disputes/duplicates.ts'
import type { Gateway } from '../gateways/gateway.ts'
import type { Tx } from '../kit/db/db.ts'
import { creditOf } from '../outcomes/apply.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { movePaymentWithin, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOpen, type Proof } from '../payments/states.ts'
import { closeAttempt } from '../payments/update-attempt.ts'
import { hasDuplicateRefund } from '../refunds/find.ts'
import type { RefundRow } from '../refunds/refund.ts'
import { recordRefund } from '../refunds/request.ts'
import { claimProof, findProven, keepEarlierReference } from './proof-queries.ts'

/** What a resolution works on, read under locks. */
export interface Subject {
  row: CaseDetails['row']
  payment: PaymentRow
  attempt: AttemptRow
  gateway: Gateway | undefined
  method: MethodRow | null
}

const SOURCE = 'case'

/** The payment succeeds with the amount that was received. */
export async function acceptReceived(app: PaymentsApp, tx: Tx, subject: Subject): Promise<void> {
  const { attempt, payment } = subject
  const paid = money(attempt.paidMinor ?? 0n, payment.currency)
  await capture(app, tx, subject, {
    paid,
    proof: 'gateway',
    from: 'unmatched',
    reference: attempt.gatewayReference,
  })
}

/** The payment succeeds with the amount that was asked for, because the provider's records show it. */
export async function markPaid(app: PaymentsApp, tx: Tx, subject: Subject, proof: string): Promise<void> {
  await requireNewProof(app, tx, subject, proof)
  // Refunds, disputes and settlement files go by the reference that was proven.
  await keepEarlierReference(tx, subject.attempt, proof)
  const paid = money(subject.payment.amountMinor, subject.payment.currency)
  await capture(app, tx, subject, { paid, proof: 'review', from: 'gateway', reference: proof })
}

/** One payment at the provider is credited once. */
async function requireNewProof(app: PaymentsApp, tx: Tx, { attempt }: Subject, proof: string): Promise<void> {
  if (await claimProof(tx, attempt, proof, app.clock.now())) return
  const proven = await findProven(tx, attempt, proof)
  const which = proven ? `the payment ${proven.reference} (${proven.id})` : 'another payment'
  throw new ApiError('proof_already_used', {
    message: `${proof} proves ${which} at ${attempt.gateway} already. Send the provider’s reference of this payment, or mark it as failed.`,
  })
}

interface Capture {
  paid: Money
  proof: Proof
  from: 'gateway' | 'unmatched'
  reference: string | null
}

async function capture(
  app: PaymentsApp,
  tx: Tx,
  { payment, attempt, gateway, method }: Subject,
  { paid, proof, from, reference: gatewayReference }: Capture,
): Promise<void> {
  if (!gateway) throw new ApiError('gateway_not_found')
  const now = app.clock.now()
  const { feeMinor, ...credit } = creditOf(app, gateway, paid, { from })
  const next: PaymentRow = {
    ...plainMove(payment, 'successful'),
    gateway: attempt.gateway,
    failureCode: null,
    failureMessage: null,
    amountPaidMinor: paid.minor,
    paidAt: attempt.endedAt ?? now,
    feeMinor,
  }
  const paidAttempt: AttemptRow = {
    ...attempt,
    status: 'succeeded',
    gatewayReference,
    failureCode: null,
    failureMessage: null,
    paidMinor: paid.minor,
    paidCurrency: paid.currency,
    endedAt: now,
    dueAt: null,
  }
  await requireMoved(
    movePaymentWithin(tx, app, payment, next, {
      ...{ kind: 'captured', proof, source: SOURCE, method, attempt: paidAttempt },
      ...{ expectedFence: null, readDueAt: attempt.dueAt, ...credit },
    }),
  )
}

/** The provider's records show that nothing was paid. A payment that has ended already keeps its status. */
export async function markFailed(app: PaymentsApp, tx: Tx, subject: Subject): Promise<void> {
  const { payment, attempt } = subject
  const failure = { failureCode: 'unknown', failureMessage: DECIDED_FAILURES.marked_failed } as const
  const at = app.clock.now()
  if (!isCurrent(subject)) {
    await closeAttempt(tx, {
      ...{ merchantId: attempt.merchantId, attemptId: attempt.id, status: 'declined', ...failure },
      ...{ paidMinor: null, paidCurrency: null, gatewayReference: null, dueAt: attempt.dueAt },
      ...{ nextPollAt: null, statusReason: null, entryId: null, postings: [], at },
    })
    return
  }
  const ended: AttemptRow = { ...attempt, ...failure, status: 'declined', endedAt: at, dueAt: null }
  await requireMoved(
    movePaymentWithin(
      tx,
      app,
      payment,
      { ...plainMove(payment, 'failed'), ...failure, statusReason: 'marked_failed' satisfies DecidedFailure },
      {
        ...{ kind: 'attempt_ended', proof: 'review', source: SOURCE, method: subject.method },
        ...{ attempt: ended, expectedFence: null, readDueAt: attempt.dueAt },
      },
    ),
  )
}

/** Sends held money back through the gateway, and ends an open payment. The caller submits the refund after the commit. */
export async function returnByRefund(app: PaymentsApp, tx: Tx, subject: Subject): Promise<RefundRow> {
  const { payment, attempt, gateway, row } = subject
  const { paidCurrency: currency } = attempt
  if (!gateway?.refund || !isCurrency(currency)) {
    throw new ApiError('refund_not_supported', {
      message:
        'The gateway cannot send this money back. Return it at the provider, and name its reference as proof.',
    })
  }
  await unscheduleDuplicateRefund(tx, attempt.merchantId, attempt.id)
  await endOpenPayment(app, tx, subject, 'returned')
  return recordRefund(app, tx, payment, attempt, {
    id: app.random.uuid(),
    amount: money(attempt.paidMinor ?? 0n, currency),
    isFull: true,
    isDuplicate: true,
    refundReference: null,
    reason: row.kind,
    metadata: {},
  })
}

/** The payer has the money back already. */
export async function markReturned(app: PaymentsApp, tx: Tx, subject: Subject): Promise<void> {
  const returned = { kind: 'reversal', to: `gateway:${subject.attempt.gateway}` } as const
  await release(app, tx, subject, returned)
  await endOpenPayment(app, tx, subject, 'returned')
}

/** The money stays unclaimed, and is booked out. */
export async function writeOff(app: PaymentsApp, tx: Tx, subject: Subject): Promise<void> {
  await release(app, tx, subject, { kind: 'write_off', to: 'written_off' })
  await endOpenPayment(app, tx, subject, 'written_off')
}

/** Books held money out once. A refund that is pending books it itself; if it fails, it opens a case of its own. */
async function release(
  app: PaymentsApp,
  tx: Tx,
  { attempt }: Subject,
  to: { kind: 'reversal' | 'write_off'; to: string },
): Promise<void> {
  const { merchantId, id } = attempt
  await unscheduleDuplicateRefund(tx, merchantId, id)
  if (await hasDuplicateRefund(tx, merchantId, id)) return
  await releaseHeldMoney(app, tx, attempt, to)
}

/** The payment that waits for this attempt fails; one that has ended, or that another attempt may pay, stays. */
async function endOpenPayment(
  app: PaymentsApp,
  tx: Tx,
  subject: Subject,
  statusReason: 'returned' | 'written_off',
): Promise<void> {
  if (!isCurrent(subject)) return
  const { payment, method } = subject
  const failure = { failureCode: 'unknown', failureMessage: DECIDED_FAILURES[statusReason] } as const
  const next: PaymentRow = { ...plainMove(payment, 'failed'), ...failure, statusReason }
  const move = { kind: 'plain', proof: 'review', source: SOURCE, method } as const
  await requireMoved(movePaymentWithin(tx, app, payment, next, move))
}

const isCurrent = ({ payment, attempt }: Subject) =>
  isOpen(payment.status) && attempt.number === payment.attemptsUsed

async function requireMoved(moved: Promise<boolean>): Promise<void> {
  if (!(await moved)) throw new Error('the payment moved while it was locked')
}
