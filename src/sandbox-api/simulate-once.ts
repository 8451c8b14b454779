import type { Merchant } from '../core/merchant.ts'
import { claimKey, type IdempotentResult, type KeyClaim, releaseIdempotencyKey } from '../kit/idempotency.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { SandboxApiApp } from './service.ts'

/** Who plays, about which payment, and under which Idempotency-Key. */
export interface Simulation {
  merchant: Merchant
  reference: string
  claim: Pick<KeyClaim, 'key' | 'operation' | 'input'>
}

/**
 * Plays once under one Idempotency-Key. What is played takes calls to the provider, so the key is claimed before them and
 * given back if it comes to nothing.
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
