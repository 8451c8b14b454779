import { sanitizeText, sanitizeTexts } from '../core/sanitize-text.ts'
import type { Outcome } from '../gateways/gateway.ts'
import type { SavedMethod } from '../gateways/saved-method.ts'

/** The provider's texts are stored, so characters that PostgreSQL cannot store are removed. */
export function sanitizeOutcome(outcome: Outcome): Outcome {
  if (outcome.kind === 'unknown') return { ...outcome, message: sanitizeText(outcome.message) }
  const gatewayReference = outcome.gatewayReference === null ? null : sanitizeText(outcome.gatewayReference)
  switch (outcome.kind) {
    case 'succeeded':
      return {
        ...outcome,
        gatewayReference: gatewayReference ?? '',
        ...(outcome.receiptNumber !== undefined && { receiptNumber: sanitizeText(outcome.receiptNumber) }),
        savedMethod: outcome.savedMethod && sanitizeMethod(outcome.savedMethod),
        ...(outcome.disputes && {
          disputes: outcome.disputes.map((one) => ({ ...one, reference: sanitizeText(one.reference) })),
        }),
      }
    case 'declined':
      return { ...outcome, gatewayReference, message: sanitizeText(outcome.message) }
    case 'pending':
      return { ...outcome, gatewayReference }
  }
}

/** The credential stays unchanged: it is encrypted, and the provider expects it back exactly. */
function sanitizeMethod({ tokenExpiresAt, ...method }: SavedMethod): SavedMethod {
  return {
    ...sanitizeTexts(method),
    credential: method.credential,
    ...(tokenExpiresAt && { tokenExpiresAt }),
  }
}
