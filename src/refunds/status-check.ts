import { money } from '../core/money.ts'
import type { Gateway, RefundOutcome, RefundRequest } from '../gateways/gateway.ts'
import type { Db } from '../kit/db/db.ts'
import { listAttempts } from '../payments/find.ts'
import type { RefundRow } from './refund.ts'

/** Polls the gateway for the status of a refund. */
export async function checkRefundStatus(gateway: Gateway, refund: RefundRow): Promise<RefundOutcome> {
  if (gateway.verifyRefund) return gateway.verifyRefund(toRequest(refund), refund.gatewayReference)
  return { kind: 'unknown', reason: 'not_found', message: `${gateway.name} has no status query for refunds` }
}

/** Converts a refund to the gateway contract's request. */
export function toRequest(refund: RefundRow): RefundRequest {
  const { gatewayKey: key, attemptKey, attemptReference, amountMinor, currency, isFull, report } = refund
  const request = { key, attemptKey, attemptReference, amount: money(amountMinor, currency), isFull }
  return report === null ? request : { ...request, report }
}

/** What some providers need to send the money back: the receipt number of the payment, and the payer's number. */
export async function findPaidBy(
  db: Db,
  { merchantId, paymentId, attemptId }: RefundRow,
): Promise<Pick<RefundRequest, 'receiptNumber' | 'payerPhone'>> {
  const attempts = await listAttempts(db, merchantId, paymentId)
  const { receiptNumber = null, choice = null } = attempts.find(({ id }) => id === attemptId) ?? {}
  return {
    ...(receiptNumber !== null && { receiptNumber }),
    ...(choice?.phone !== undefined && { payerPhone: choice.phone }),
  }
}
