// If the bank requires authentication for a recurring charge, the charge fails, and the merchant gets an open checkout to
// which it can send the customer.

import { createHash } from 'node:crypto'
import { ApiError } from '../core/errors.ts'
import { money } from '../core/money.ts'
import type { MethodRow } from '../customers/method.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { detailsOf, type PaymentRow } from '../payments/payment.ts'
import { openCheckout } from '../payments/record.ts'
import type { Decision } from './decide.ts'

/** Idempotent: the reference is made of the charge's id, so applying the outcome again opens the same checkout. */
export async function openRecovery(
  app: PaymentsApp,
  charge: PaymentRow,
  decision: Extract<Decision, { kind: 'move' }>,
  method: MethodRow | null,
): Promise<PaymentRow | null> {
  const needsAuthentication = decision.to === 'failed' && decision.failure?.code === 'authentication_required'
  if (!needsAuthentication || charge.kind !== 'charge' || !method) return null
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
      ...detailsOf(charge),
      reference,
      amount: money(charge.amountMinor, charge.currency),
      customer: {
        email: charge.customerEmail,
        firstname: charge.customerFirstname,
        lastname: charge.customerLastname,
        country: null,
        phone: charge.customerPhone ?? undefined,
      },
      isRecurring: true,
    },
    method.gateway,
  ).catch(nullIfBlocked)
  return recorded?.payment ?? null
}

/** A customer who was blocked during the charge gets no checkout; the charge has failed anyway. */
function nullIfBlocked(error: unknown): null {
  if (error instanceof ApiError && error.code === 'customer_blocked') return null
  throw error
}
