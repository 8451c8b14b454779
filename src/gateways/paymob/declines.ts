// Decline reasons. Paymob passes on the response code of the acquirer, which for cards is often that of ISO 8583, and a
// text of the bank or the wallet.

import type { FailureCode } from '../../core/failures.ts'
import { findByMessage, type MessagePatterns } from '../reply.ts'

const RESPONSE_CODES: Readonly<Record<string, FailureCode>> = {
  '04': 'suspected_fraud',
  '05': 'do_not_honor',
  '07': 'suspected_fraud',
  '14': 'invalid_card',
  '1A': 'authentication_required',
  '41': 'suspected_fraud',
  '43': 'suspected_fraud',
  '51': 'insufficient_funds',
  '54': 'card_expired',
  '55': 'authentication_failed',
  '57': 'do_not_honor',
  '61': 'limit_exceeded',
  '62': 'invalid_card',
  '65': 'limit_exceeded',
  '91': 'provider_unavailable',
  '96': 'provider_unavailable',
}

const MESSAGE_PATTERNS: MessagePatterns = [
  [/insufficient|not enough|low balance/, 'insufficient_funds'],
  [/authenticat\w+ (?:is )?required/, 'authentication_required'],
  [
    /authenticat\w+ (?:has )?fail|not authenticated|3d ?secure|(?:incorrect|invalid|wrong) (?:pin|otp|mpin)/,
    'authentication_failed',
  ],
  [/expired card|card (?:has |is )?expired/, 'card_expired'],
  [/fraud|suspicious|pick ?up|lost card|stolen|blocked/, 'suspected_fraud'],
  [/limit|exceed/, 'limit_exceeded'],
  [/cancel/, 'customer_cancelled'],
  [/invalid (?:card|pan|cvv|csc)|card number|restricted card/, 'invalid_card'],
  [
    /(?:wallet|subscriber|msisdn|user) (?:was |is |does )?(?:not found|not exist|not registered|invalid)/,
    'wallet_not_found',
  ],
  [/do not hono|declined|refused/, 'do_not_honor'],
  [/session expired|timed? ?out|not respond/, 'customer_timeout'],
  [/unavailable|system error|unspecified failure|not processed/, 'provider_unavailable'],
]

export function toFailureCode(code: string | null | undefined, text: string | null | undefined): FailureCode {
  const byCode = code && Object.hasOwn(RESPONSE_CODES, code) ? RESPONSE_CODES[code] : undefined
  return byCode ?? findByMessage(MESSAGE_PATTERNS, text) ?? 'unknown'
}
