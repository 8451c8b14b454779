// The merchant's own references of refunds. A reference identifies one refund for ever, like the reference of a payment: a
// retry with the same body finds the refund, another body is rejected.

import { ApiError } from '../core/errors.ts'
import type { Tx } from '../kit/db/db.ts'
import { fingerprintRequest } from '../kit/db/idempotency.ts'
import { awaitStandby } from '../kit/db/standby.ts'
import type { RefundInput } from './input.ts'
import { claimRefundReference, findRefund, findRefundReference } from './queries.ts'

/** Claims the reference of a refund. Returns the id of the earlier refund that an identical request has made. */
export async function claimReference(
  tx: Tx,
  merchantId: string,
  input: RefundInput,
  refundId: string,
): Promise<string | undefined> {
  const { refundReference } = input
  if (refundReference === null) return undefined
  const fingerprint = fingerprintRequest('refund', input)
  if (await claimRefundReference(tx, merchantId, refundReference, { refundId, fingerprint })) return undefined
  const earlier = await findRefundReference(tx, merchantId, refundReference)
  if (!earlier) throw new ApiError('temporarily_unavailable')
  if (!earlier.fingerprint.equals(fingerprint)) throw await usedReference(tx, merchantId, earlier.refundId)
  await awaitStandby(tx)
  return earlier.refundId
}

async function usedReference(tx: Tx, merchantId: string, refundId: string): Promise<ApiError> {
  const refund = await findRefund(tx, merchantId, refundId)
  const message = `The refundReference ${JSON.stringify(refund?.refundReference)} was used with another body: it names refund ${refundId}, which is ${refund?.status}. Another refund takes another refundReference.`
  const details = [{ field: 'refundReference', code: 'duplicate_reference', message }]
  return new ApiError('duplicate_reference', { message, details })
}
