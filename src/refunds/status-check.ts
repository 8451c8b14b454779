import { money } from '../core/money.ts'
import type { Gateway, RefundOutcome, RefundRequest } from '../gateways/gateway.ts'
import type { RefundRow } from './refund.ts'

/** Asks a gateway what became of a refund. */
export async function checkRefundStatus(gateway: Gateway, refund: RefundRow): Promise<RefundOutcome> {
  if (gateway.verifyRefund) return gateway.verifyRefund(toRequest(refund), refund.gatewayReference)
  return { kind: 'unknown', reason: 'not_found', message: `${gateway.name} cannot be asked about refunds` }
}

/** A refund as the connector needs to see it. */
export function toRequest(refund: RefundRow): RefundRequest {
  const { gatewayKey: key, attemptKey, attemptReference, amountMinor, currency, isFull } = refund
  return { key, attemptKey, attemptReference, amount: money(amountMinor, currency), isFull }
}
