// Requests a refund: record, call, apply the outcome. The refund with its idempotency key is committed and its amount is
// reserved before the gateway is called.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { Money } from '../core/money.ts'
import { recordEvents } from '../events/service.ts'
import type { Tx } from '../kit/db/db.ts'
import { createIdempotently, type IdempotentResult } from '../kit/db/idempotency.ts'
import { errorFields } from '../kit/observability/log.ts'
import { firstLeaseEnd } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { requirePayment } from '../payments/find.ts'
import { newGatewayKey } from '../payments/gateway-request.ts'
import { requireSamePayment } from '../payments/input.ts'
import type { LockedPayment, PaymentRow } from '../payments/payment.ts'
import { advanceRefund } from './advance.ts'
import { explainUnknownPayment, type RefundInput, requireRetryable, toRefundAmount } from './input.ts'
import { findPaidAttempt, requireRefundable, reserveRefund } from './payment-effects.ts'
import { findRefund, insertRefund } from './queries.ts'
import { claimReference } from './reference.ts'
import type { RefundRow } from './refund.ts'
import { toRefund } from './schema.ts'

const OPERATION = 'POST /api/v1/refunds'

/**
 * Runs in the transaction that records the refund, and refuses it by throwing. The payment is locked, and its totals do not
 * include the refund.
 */
export type RefundCheck = (tx: Tx, refund: RefundRow, payment: LockedPayment) => Promise<void>

export async function requestRefund(
  app: PaymentsApp,
  merchant: Merchant,
  input: RefundInput,
  idempotencyKey: string | undefined,
  check?: RefundCheck,
): Promise<IdempotentResult<RefundRow>> {
  // Idempotency comes first: a retry returns the recorded refund, even if the same request would be rejected now.
  const validated = await validateRefund(app, merchant, input, idempotencyKey).catch(catchApiError)
  await app.failpoints.hit('refund.before_record')
  const claim = { merchantId: merchant.id, key: idempotencyKey, operation: OPERATION, input }
  const once = await createIdempotently(app, claim, {
    claimName: (tx, id) => claimReference(tx, merchant.id, input, id),
    make: (tx, id) => recordValidated(app, tx, id, validated, input, check),
    find: (id) => findRefund(app.db, merchant.id, id),
  })
  if (once.replayed) return once
  await app.failpoints.hit('refund.after_record')
  const record = await advanceRefund(app, once.record, 'api').catch((error: unknown) => {
    // The refund is recorded and the resolver continues. An error response would make the caller request a second refund.
    app.log.write('refund.submit_failed', { refundId: once.record.id, ...errorFields(error) })
    return once.record
  })
  return { record, replayed: false }
}

interface ValidatedRefund {
  payment: PaymentRow
  attempt: AttemptRow
  amount: Money | null
  isFullOnly: boolean
}

/** The checks that need no lock. */
export async function validateRefund(
  app: PaymentsApp,
  merchant: Merchant,
  input: RefundInput,
  idempotencyKey: string | undefined,
): Promise<ValidatedRefund> {
  const payment = await requirePayment(app, merchant, input.payment).catch((error: unknown) =>
    explainUnknownPayment(error, input),
  )
  requireSamePayment(payment, input.payment.reference, ['paymentUuid', 'paymentReference'])
  const amount = toRefundAmount(input.amount, payment.currency)
  requireRetryable(input, idempotencyKey, amount, payment)
  requireRefundable(payment)
  const attempt = await findPaidAttempt(app, payment)
  const gateway = attempt && (await app.gateways.find(merchant.id, attempt.gateway, attempt.accountId))
  if (!attempt || !gateway?.refund) throw new ApiError('refund_not_supported')
  return { payment, attempt, amount, isFullOnly: gateway.behavior.fullRefundsOnly === true }
}

function catchApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

async function recordValidated(
  app: PaymentsApp,
  tx: Tx,
  id: string,
  validated: ValidatedRefund | ApiError,
  { refundReference, reason, metadata }: RefundInput,
  check: RefundCheck | undefined,
): Promise<RefundRow> {
  if (validated instanceof ApiError) throw validated
  const { payment, reserved } = await reserveRefund(tx, validated.payment, validated.amount)
  const isFull = reserved.minor === payment.amountPaidMinor
  if (validated.isFullOnly && !isFull) throw new ApiError('partial_refund_not_supported')
  const facts = { id, amount: reserved, isFull, isDuplicate: false, refundReference, reason, metadata }
  const refund = await recordRefund(app, tx, payment, validated.attempt, facts)
  await check?.(tx, refund, payment)
  return refund
}

interface NewRefund {
  id: string
  amount: Money
  isFull: boolean
  isDuplicate: boolean
  refundReference: string | null
  reason: string | null
  metadata: Record<string, unknown>
  /** The refund at the provider, if it was made there. */
  provider?: { reference: string }
}

/** Inserts the refund with its event. Until the first lease ends only the caller submits it, then the resolver. */
export async function recordRefund(
  app: PaymentsApp,
  tx: Tx,
  payment: PaymentRow,
  attempt: AttemptRow,
  { amount, provider, ...facts }: NewRefund,
): Promise<RefundRow> {
  const now = app.clock.now()
  const refund: RefundRow = {
    ...facts,
    merchantId: payment.merchantId,
    paymentId: payment.id,
    paymentReference: payment.reference,
    attemptId: attempt.id,
    attemptKey: attempt.gatewayKey,
    attemptReference: attempt.gatewayReference ?? '',
    gateway: attempt.gateway,
    accountId: attempt.accountId,
    status: 'pending',
    statusReason: null,
    version: 1,
    amountMinor: amount.minor,
    currency: amount.currency,
    source: provider ? 'provider' : 'api',
    gatewayKey: newGatewayKey(app.random),
    gatewayReference: provider?.reference ?? null,
    report: null,
    failureMessage: null,
    // A refund that the provider has is never sent: it is only polled.
    submittedAt: provider ? now : null,
    dueAt: firstLeaseEnd(app, now),
    polls: 0,
    fence: 1,
    createdAt: now,
    updatedAt: now,
  }
  await insertRefund(tx, refund)
  await recordEvents(app, tx, app.settings.mode, [
    {
      merchantId: refund.merchantId,
      type: 'refund.pending',
      resource: { type: 'refund', uuid: refund.id, version: 1 },
      data: toRefund(refund),
    },
  ])
  return refund
}
