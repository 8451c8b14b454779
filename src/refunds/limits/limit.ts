// From the amount that the merchant's settings name, a person refunds only with the approval of a second person.

import type { Currency } from '../../core/currency.ts'
import { ApiError } from '../../core/errors.ts'
import type { Principal } from '../../core/merchant.ts'
import { add, formatAmount, money, readDecimal } from '../../core/money.ts'
import { findLimit } from '../../merchants/service.ts'
import type { RefundCheck } from '../request.ts'

/** Decimals in the currency that was asked for; null for never. */
export interface RefundLimits {
  approvalFrom: string | null
  confirmationFrom: string | null
}

/** Whether a decimal reaches a limit of its currency. */
export function isFrom(limit: string | null, decimal: string, currency: Currency): boolean {
  const from = limit === null ? undefined : readDecimal(limit, currency)
  const amount = readDecimal(decimal, currency)
  return from !== undefined && amount !== undefined && amount.minor >= from.minor
}

/** The check of a refund without an approval. Keys have no limit: their owner has written what they do. */
export function limitFor({ type }: Principal): RefundCheck | undefined {
  return type === 'user' ? requireBelowLimit : undefined
}

/** All refunds of the payment count, so that two small ones do not replace a large one. */
const requireBelowLimit: RefundCheck = async (tx, { merchantId, amountMinor, currency }, payment) => {
  const limit = await findLimit(tx, merchantId, 'refundApprovals', currency)
  const others = money(payment.refundedMinor + payment.refundReservedMinor, currency)
  if (limit === null || add(others, money(amountMinor, currency)).minor < limit.minor) return
  throw new ApiError('refund_approval_required', {
    message: `From ${currency} ${formatAmount(limit)} on, a second person must approve the refunds of a payment.`,
  })
}
