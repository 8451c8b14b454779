// From the amount that the merchant's settings name, a person refunds only with the approval of a second person.

import { ApiError } from '../../core/errors.ts'
import type { Principal } from '../../core/merchant.ts'
import { add, formatAmount, money } from '../../core/money.ts'
import { findLimit } from '../../merchants/service.ts'
import type { RefundCheck } from '../request.ts'

/** Decimals in the currency that was asked for; null for never. */
export interface RefundLimits {
  approvalFrom: string | null
  confirmationFrom: string | null
}

/** The check of a refund without an approval. Keys have no limit: their owner has written what they do. */
export function limitFor({ type }: Principal): RefundCheck | undefined {
  return type === 'user' ? requireBelowLimit : undefined
}

/** All refunds of the payment count, so that two small ones do not replace a large one. */
const requireBelowLimit: RefundCheck = async (tx, { merchantId, amountMinor, currency }, payment) => {
  const limit = await findLimit({ db: tx }, merchantId, 'refundApprovals', currency)
  const others = money(payment.refundedMinor + payment.refundReservedMinor, currency)
  if (limit === null || add(others, money(amountMinor, currency)).minor < limit.minor) return
  throw new ApiError('refund_approval_required', {
    message: `From ${currency} ${formatAmount(limit)} on, a second person must approve the refunds of a payment.`,
  })
}
