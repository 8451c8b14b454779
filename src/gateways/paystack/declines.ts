// Decline reasons. Paystack passes on the text of the bank or network, which differs from bank to bank, and for cards
// often the ISO 8583 response code, which does not.

import type { FailureCode } from '../../core/failures.ts'
import { findByMessage, type MessagePatterns } from '../reply.ts'

/** The ISO 8583 codes that say more than "declined". */
const RESPONSE_CODES: Readonly<Record<string, FailureCode>> = {
  '01': 'do_not_honor',
  '02': 'do_not_honor',
  '04': 'suspected_fraud',
  '05': 'do_not_honor',
  '06': 'provider_unavailable',
  '07': 'suspected_fraud',
  '14': 'invalid_card',
  '15': 'invalid_card',
  '17': 'customer_cancelled',
  '33': 'card_expired',
  '34': 'suspected_fraud',
  '38': 'authentication_failed',
  '41': 'suspected_fraud',
  '43': 'suspected_fraud',
  '51': 'insufficient_funds',
  '54': 'card_expired',
  '55': 'authentication_failed',
  '57': 'do_not_honor',
  '59': 'suspected_fraud',
  '61': 'limit_exceeded',
  '62': 'invalid_card',
  '63': 'suspected_fraud',
  '65': 'limit_exceeded',
  '75': 'authentication_failed',
  '91': 'provider_unavailable',
  '94': 'duplicate',
  '96': 'provider_unavailable',
}

const MESSAGE_PATTERNS: MessagePatterns = [
  [/insufficient|not enough|low balance/, 'insufficient_funds'],
  [/time to pay|session timeout|cannot be reached|did not (?:approve|respond)/, 'customer_timeout'],
  [/authenticat\w+ (?:is )?required/, 'authentication_required'],
  [
    /authenticat\w+ fail|not authenticated|3d ?secure|(?:incorrect|invalid|wrong) (?:pin|otp)|pin tries|registration token|too many attempts/,
    'authentication_failed',
  ],
  [/expired (?:card|account)|card (?:has |is )?expired/, 'card_expired'],
  [/fraud|suspicious|pick ?up card|lost card|stolen|unable to process transaction/, 'suspected_fraud'],
  [/limit|exceed|watch your spending|charge attempt cannot be fulfilled/, 'limit_exceeded'],
  [/cancel/, 'customer_cancelled'],
  [
    /invalid (?:card|account number|cvv|authorization)|authorization (?:code|may be)|no such (?:card )?issuer|restricted card|token not generated/,
    'invalid_card',
  ],
  [
    /not registered|(?:wallet|subscriber|payer|phone number) (?:was |is )?(?:not found|invalid)/,
    'wallet_not_found',
  ],
  [/duplicate/, 'duplicate'],
  [
    /time ?out|timed out|inoperative|malfunction|processing error|unavailable|try again later/,
    'provider_unavailable',
  ],
  [
    /do not hono|declined|refer to (?:card )?issuer|not permitted|not allowed|no action taken/,
    'do_not_honor',
  ],
]

/** The reason for a response code, else for the first text with a known pattern. */
export function toFailureCode(
  responseCode: string | null | undefined,
  ...texts: readonly (string | null | undefined)[]
): FailureCode {
  const known =
    findResponseCode(responseCode) ?? texts.map(findFailureCode).find((code) => code !== undefined)
  return known ?? 'unknown'
}

function findResponseCode(code: string | null | undefined): FailureCode | undefined {
  return code != null && Object.hasOwn(RESPONSE_CODES, code) ? RESPONSE_CODES[code] : undefined
}

/** Paystack's reason codes (insufficient_funds) are matched as text too. */
export function findFailureCode(text: string | null | undefined): FailureCode | undefined {
  return findByMessage(MESSAGE_PATTERNS, text)
}
