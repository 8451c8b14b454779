import type { Merchant } from '../core/merchant.ts'
import {
  claimKey,
  type IdempotentResult,
  type KeyClaim,
  releaseIdempotencyKey,
} from '../kit/db/idempotency.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { SandboxApiApp } from './service.ts'

/** A simulated action: its merchant, its payment and its Idempotency-Key. */
export interface Simulation {
  merchant: Merchant
  reference: string
  claim: Pick<KeyClaim, 'key' | 'operation' | 'input'>
}

/**
 * Runs a simulation once per Idempotency-Key. It calls the provider, so the key is claimed before the calls, and released if
 * they fail.
 */
export async function simulateOnce(
  app: SandboxApiApp,
  { merchant, reference, claim }: Simulation,
  simulate: () => Promise<PaymentRow>,
): Promise<IdempotentResult<PaymentRow>> {
  const id = app.random.uuid()
  const { id: merchantId } = merchant
  const input = { reference, input: claim.input }
  const earlier = await claimKey(app.db, { ...claim, merchantId, input }, id, app.clock.now())
  if (earlier !== undefined)
    return { record: await requirePayment(app, merchant, { reference }), replayed: true }
  try {
    return { record: await simulate(), replayed: false }
  } catch (error) {
    if (claim.key !== undefined) await releaseIdempotencyKey(app.db, merchantId, claim.key, id)
    throw error
  }
}
