import { money } from '../core/money.ts'
import type { Gateway, RefundOutcome, RefundRequest } from '../gateways/gateway.ts'
import type { Db } from '../kit/db/db.ts'
import { listAttempts } from '../payments/find.ts'
import { selectOtherReferences } from './gateway-refund-queries.ts'
import { sumEarlierRefunds } from './payment-queries.ts'
import type { RefundRow } from './refund.ts'

/** Polls the gateway for the status of a refund. */
export async function checkRefundStatus(db: Db, gateway: Gateway, refund: RefundRow): Promise<RefundOutcome> {
  if (!gateway.verifyRefund)
    return {
      kind: 'unknown',
      reason: 'not_found',
      message: `${gateway.name} has no status query for refunds`,
    }
  // With a key the provider needs nothing else to find the refund.
  const details = gateway.behavior.nonIdempotentRefunds ? await findDetails(db, gateway, refund) : {}
  return gateway.verifyRefund({ ...toRequest(refund), ...details }, refund.gatewayReference)
}

/** Converts a refund to the gateway contract's request. */
export function toRequest(refund: RefundRow): RefundRequest {
  const { gatewayKey: key, attemptKey, attemptReference, amountMinor, currency, isFull, report } = refund
  const request = { key, attemptKey, attemptReference, amount: money(amountMinor, currency), isFull }
  return report === null ? request : { ...request, report }
}

type RefundDetails = Pick<
  RefundRequest,
  'receiptNumber' | 'payerPhone' | 'otherReferences' | 'refundedBefore'
>

/**
 * What some providers need to send the money back: the receipt number of the payment, and the payer's number. Without a key
 * a refund is recognized as the one that is none of the others, or by the sum of all.
 */
export async function findDetails(db: Db, { behavior }: Gateway, refund: RefundRow): Promise<RefundDetails> {
  const { merchantId, paymentId, attemptId } = refund
  const attempts = await listAttempts(db, merchantId, paymentId)
  const { receiptNumber = null, choice = null } = attempts.find(({ id }) => id === attemptId) ?? {}
  return {
    ...(receiptNumber !== null && { receiptNumber }),
    ...(choice?.phone !== undefined && { payerPhone: choice.phone }),
    ...(behavior.nonIdempotentRefunds && (await findOthers(db, refund))),
  }
}

async function findOthers(
  db: Db,
  refund: RefundRow,
): Promise<Pick<RefundRequest, 'otherReferences' | 'refundedBefore'>> {
  const otherReferences = await selectOtherReferences(db, refund)
  const minor = await sumEarlierRefunds(db, refund)
  return { otherReferences, ...(minor > 0n && { refundedBefore: money(minor, refund.currency) }) }
}
