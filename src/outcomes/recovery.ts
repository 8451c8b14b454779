// When the bank wants the customer present for a recurring charge, the charge has failed, and the merchant gets an open
// checkout to send the customer to.

import { createHash } from 'node:crypto'
import { ApiError } from '../core/errors.ts'
import { money } from '../core/money.ts'
import type { MethodRow } from '../customers/method.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { openCheckout } from '../payments/open-checkout.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { Decision } from './decide.ts'

/**
 * The reference is made of the charge's own id, so that whoever settles this charge, however often, opens the same
 * checkout.
 */
export async function openRecovery(
  app: PaymentsApp,
  charge: PaymentRow,
  decision: Extract<Decision, { kind: 'move' }>,
  method: MethodRow | null,
): Promise<PaymentRow | null> {
  const isWanted = decision.to === 'failed' && decision.failure?.code === 'authentication_required'
  if (!isWanted || charge.kind !== 'charge' || !method) return null
  const reference = `recovery-${charge.id}`
  const recorded = await openCheckout(
    app,
    charge.merchantId,
    {
      operation: 'recovery',
      reference,
      fingerprint: createHash('sha256').update(reference).digest('hex'),
      idempotencyKey: null,
    },
    {
      reference,
      amount: money(charge.amountMinor, charge.currency),
      description: charge.description,
      metadata: charge.metadata,
      customer: {
        email: charge.customerEmail,
        firstname: charge.customerFirstname,
        lastname: charge.customerLastname,
        country: null,
      },
      country: charge.country,
      redirectUrl: null,
      isRecurring: true,
    },
    method.gateway,
  ).catch(nullIfBlocked)
  return recorded?.payment ?? null
}

/** Who was blocked while the charge was under way gets no checkout; the charge has failed all the same. */
function nullIfBlocked(error: unknown): null {
  if (error instanceof ApiError && error.code === 'customer_blocked') return null
  throw error
}
