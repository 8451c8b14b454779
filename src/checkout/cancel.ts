// The merchant cancels a checkout, which ends it. The open attempt is stopped first; while its outcome is unknown the payer
// may have paid, and nothing is cancelled.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { Tx } from '../kit/db/db.ts'
import { type IdempotentResult, isReplay } from '../kit/db/idempotency.ts'
import { isCompleting } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { lockPayment, requirePayment } from '../payments/find.ts'
import { movePaymentWithin, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOpen } from '../payments/states.ts'
import { isDirectTransferSent, stopAttempt } from './payer-actions.ts'
import { type CheckoutView, reloadView, withAttempts } from './view.ts'

const OPERATION = 'POST /api/v1/checkout/payments/{uuid}/cancel'
const MERCHANT_CANCELLED = 'merchant_cancelled'

export async function cancelPayment(
  app: PaymentsApp,
  merchant: Merchant,
  id: string,
  key: string | undefined,
): Promise<IdempotentResult<PaymentRow>> {
  const payment = await requirePayment(app, merchant, { uuid: id })
  if (payment.kind !== 'checkout') throw new ApiError('payment_not_found')
  const stopped = await stopAttempt(app, await withAttempts(app, payment))
  const claim = { merchantId: merchant.id, key, operation: OPERATION, input: { id } }
  const replayed = await app.db.transaction(
    async (tx) => (await isReplay(app, tx, claim)) || !(await abandon(app, tx, stopped)),
  )
  return { record: (await reloadView(app, payment)).payment, replayed }
}

/** False if the payment was cancelled before. */
async function abandon(
  app: PaymentsApp,
  tx: Tx,
  { view, answered }: { view: CheckoutView; answered: boolean },
): Promise<boolean> {
  const { merchantId, id } = view.payment
  const payment = await lockPayment(tx, merchantId, id)
  if (payment.status === 'abandoned') return false
  requireCancellable(payment, view, answered)
  const next = plainMove(payment, 'abandoned', MERCHANT_CANCELLED)
  const move = { kind: 'plain', proof: 'merchant', source: 'api' } as const
  if (!(await movePaymentWithin(tx, app, payment, next, move))) throw new ApiError('temporarily_unavailable')
  return true
}

function requireCancellable(
  payment: PaymentRow,
  { payment: seen, attempt, attempts }: CheckoutView,
  answered: boolean,
) {
  if (!isOpen(payment.status))
    throw new ApiError('invalid_state', {
      message: `This payment is ${payment.status} and cannot be cancelled.`,
    })
  // The payer has started or paid another attempt since the gateway was asked.
  const isMoved = payment.version !== seen.version || (attempt && isCompleting({ payment, attempt }))
  const isUnknown = isMoved || (payment.status === 'processing' && !answered)
  const isAwaiting = payment.status !== 'processing' || attempt?.status === 'awaiting_customer'
  if (
    isUnknown ||
    !isAwaiting ||
    (attempt && payment.status === 'processing' && isDirectTransferSent(attempt))
  )
    throw new ApiError('invalid_state', {
      message:
        'The customer may have paid: the outcome of the attempt is not known yet. Verify the payment first.',
    })
  if (attempts.some(({ status }) => status === 'amount_mismatch'))
    throw new ApiError('invalid_state', { message: 'Money of another amount has arrived for this payment.' })
}
