// The effects of refunds on their payment. A request reserves its amount in the payment's row, so that all refunds together
// never exceed the paid amount. A success moves the payment.
//
// The first partial refund moves the payment to partially_refunded, the last one to refunded. A refund in between changes
// only refundedAmount; its own refund.successful event reports it.

import { ApiError } from '../core/errors.ts'
import { formatAmount, type Money, money } from '../core/money.ts'
import type { MethodRow } from '../customers/method.ts'
import { claimReleasedAmount, claimWrittenOff } from '../disputes/claims.ts'
import { readUnclaimedMinor } from '../disputes/find.ts'
import type { Tx } from '../kit/db/db.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { listAttempts, lockPayment } from '../payments/find.ts'
import { movePaymentWithin, plainMove } from '../payments/move.ts'
import type { LockedPayment, PaymentRow } from '../payments/payment.ts'
import { canMove, type MoveSource, type PaymentStatus } from '../payments/states.ts'
import { REFUND_FAILED, updateRefundTotals } from './payment-queries.ts'

export async function findPaidAttempt(
  app: PaymentsApp,
  payment: PaymentRow,
): Promise<AttemptRow | undefined> {
  const attempts = await listAttempts(app.db, payment.merchantId, payment.id)
  return attempts.find(({ status }) => status === 'succeeded')
}

const REFUNDABLE: readonly PaymentStatus[] = ['successful', 'partially_refunded']

export function requireRefundable(payment: PaymentRow): void {
  const { status, statusReason } = payment
  if (REFUNDABLE.includes(status) || (status === 'refunded' && statusReason === REFUND_FAILED)) return
  throw new ApiError('invalid_state', {
    message: `This payment is ${payment.status}; only what is successful or partially_refunded can be refunded.`,
  })
}

/** Reserves an amount for a refund; null reserves the whole remainder. */
export async function reserveRefund(
  tx: Tx,
  { merchantId, id }: PaymentRow,
  amount: Money | null,
): Promise<{ payment: LockedPayment; reserved: Money }> {
  const payment = await lockPayment(tx, merchantId, id)
  requireRefundable(payment)
  const refundable = money(refundableMinor(payment), payment.currency)
  const reserved = amount ?? refundable
  if (reserved.minor > refundable.minor || reserved.minor === 0n) {
    throw new ApiError('refund_exceeds_amount', {
      message: `${formatAmount(refundable)} ${refundable.currency} of this payment can still be refunded.`,
    })
  }
  await updateRefundTotals(tx, merchantId, id, { refundedMinor: 0n, reservedMinor: reserved.minor })
  return { payment, reserved }
}

/**
 * Reserves the amount of a refund that the provider has made already, in whatever state the payment is. False if less is
 * left: another refund or a lost dispute has taken it.
 */
export async function reserveProviderRefund(
  tx: Tx,
  { merchantId, id }: PaymentRow,
  amount: Money,
): Promise<boolean> {
  await lockPayment(tx, merchantId, id)
  if (amount.minor === 0n || amount.minor > (await readUnclaimedMinor(tx, merchantId, id))) return false
  await updateRefundTotals(tx, merchantId, id, { refundedMinor: 0n, reservedMinor: amount.minor })
  return true
}

function refundableMinor(payment: LockedPayment): bigint {
  return (payment.amountPaidMinor ?? 0n) - payment.refundedMinor - payment.refundReservedMinor
}

/** Releases the amount of a failed refund, which can then be refunded again. */
export async function releaseRefund(
  app: PaymentsApp,
  tx: Tx,
  merchantId: string,
  paymentId: string,
  amountMinor: bigint,
): Promise<void> {
  const payment = await lockPayment(tx, merchantId, paymentId)
  await updateRefundTotals(tx, merchantId, paymentId, { refundedMinor: 0n, reservedMinor: -amountMinor })
  await claimReleasedAmount(app, tx, payment)
}

/**
 * Takes a refund that failed after its success off the payment's total. No move leads back, so the payment keeps its status:
 * the status reason refund_failed says that less was refunded, until the amount is refunded again.
 */
export async function takeBackRefund(
  app: PaymentsApp,
  tx: Tx,
  { merchantId, paymentId, amountMinor }: Pick<CompletedRefund, 'merchantId' | 'paymentId' | 'amountMinor'>,
): Promise<void> {
  const payment = await lockPayment(tx, merchantId, paymentId)
  await updateRefundTotals(tx, merchantId, paymentId, { refundedMinor: -amountMinor, reservedMinor: 0n })
  await claimReleasedAmount(app, tx, payment)
}

/** The money of a refund that failed after its success was written off; a lost dispute may claim it. */
export async function writeOffRefund(
  app: PaymentsApp,
  tx: Tx,
  { merchantId, paymentId }: Pick<CompletedRefund, 'merchantId' | 'paymentId'>,
): Promise<void> {
  const payment = await lockPayment(tx, merchantId, paymentId)
  if (payment.status === 'reversed') await claimWrittenOff(app, tx, payment)
}

export interface CompletedRefund {
  merchantId: string
  paymentId: string
  amountMinor: bigint
  source: MoveSource
  /** The payment's saved method, read by the caller: inside a transaction only its own connection may be used. */
  method: MethodRow | null
}

/** Adds a successful refund to the payment's total, and moves the payment if the state table allows it. */
export async function applyRefund(app: PaymentsApp, tx: Tx, refund: CompletedRefund): Promise<void> {
  const { merchantId, paymentId, amountMinor, source, method } = refund
  const payment = await lockPayment(tx, merchantId, paymentId)
  await updateRefundTotals(tx, merchantId, paymentId, {
    refundedMinor: amountMinor,
    reservedMinor: -amountMinor,
  })
  const refundedMinor = payment.refundedMinor + amountMinor
  const status: PaymentStatus = refundedMinor === payment.amountPaidMinor ? 'refunded' : 'partially_refunded'
  // A further partial refund moves nothing, nor does a refund that completes while the payment is disputed or reversed.
  if (!canMove(payment.status, status)) return
  const next = { ...plainMove(payment, status), refundedMinor }
  const moved = await movePaymentWithin(tx, app, payment, next, {
    kind: 'plain',
    proof: 'gateway',
    source,
    method,
  })
  if (!moved) throw new Error(`payment ${paymentId} moved while it was locked`)
}
