// Decline reasons. Flutterwave has no codes: it passes on the text of the bank or network, which differs from bank to
// bank.

import type { FailureCode } from '../../core/failures.ts'
import { findByMessage, type MessagePatterns } from '../reply.ts'

const MESSAGE_PATTERNS: MessagePatterns = [
  [/insufficient|no sufficient|not enough|low balance/, 'insufficient_funds'],
  [/expired card|card (?:has |is )?expired/, 'card_expired'],
  [/authentication (?:is )?required|requires (?:customer )?authentication/, 'authentication_required'],
  [
    /(?:incorrect|invalid|wrong) (?:pin|otp)|pin tries|\botp\b|3d ?s(?:ecure)?\b|authenticat|security code/,
    'authentication_failed',
  ],
  [
    /fraud|suspicious|suspected|pick ?up card|lost card|stolen|blacklist|security violation/,
    'suspected_fraud',
  ],
  [/limit|exceed/, 'limit_exceeded'],
  [/cancel|aborted/, 'customer_cancelled'],
  [
    /not registered|(?:wallet|subscriber|payer|msisdn|(?:phone|mobile) number) (?:was |is |does )?(?:not (?:found|exist)|invalid)/,
    'wallet_not_found',
  ],
  [
    /invalid (?:card|account|cvv|expiry|token)|wrong token|token (?:was |is |has )?(?:not found|expired|invalid)|no (?:such )?card|no such issuer|restricted card|card not supported/,
    'invalid_card',
  ],
  [/duplicate|already exist/, 'duplicate'],
  [
    /gateway time|inoperative|malfunction|(?:system|server|processing) error|unavailable|error (?:has )?occur/,
    'provider_unavailable',
  ],
  [
    /time ?out|timed out|abandoned|did not (?:approve|respond|complete)|within \d+ minutes/,
    'customer_timeout',
  ],
  [
    /do not hono|declined|refer to (?:card )?issuer|not permitted|not allowed|contact (?:acquirer|(?:your )?bank)/,
    'do_not_honor',
  ],
]

export function findFailureCode(text: string | null | undefined): FailureCode | undefined {
  return findByMessage(MESSAGE_PATTERNS, text)
}

/** The same reference was sent before, and is refused for a while. */
export function isDuplicate(message: string): boolean {
  return /duplicate transaction|reference already exist/i.test(message)
}

// Flutterwave has answered HTTP 400 with such messages for saved cards that were charged nevertheless.
const AMBIGUOUS_PATTERN =
  /error (?:has |have )?occur|contact support|econn|socket|time ?out|timed out|(?:server|system|application|internal|processing) error|in progress|being processed|unavailable|malfunction|inoperative/i

/** An internal error at Flutterwave: it may have acted before the error. */
export function isAmbiguous(message: string): boolean {
  return AMBIGUOUS_PATTERN.test(message)
}

/**
 * Reasons that a bank decides. Other reasons may come from an internal error after which the charge still went through.
 */
const ISSUER_DECLINES: readonly FailureCode[] = [
  'authentication_failed',
  'authentication_required',
  'card_expired',
  'do_not_honor',
  'insufficient_funds',
  'invalid_card',
  'limit_exceeded',
  'suspected_fraud',
]

/** The bank's decline reason in an error message that comes without a record. */
export function findIssuerDecline(message: string): FailureCode | undefined {
  const code = findFailureCode(message)
  return code && ISSUER_DECLINES.includes(code) ? code : undefined
}

const VALIDATION_PATTERNS = [
  /\b(?:is|are) (?:required|missing|invalid|not (?:valid|allowed|supported|enabled))/,
  /\b(?:missing|invalid|unknown|unsupported) (?:\w+ )?(?:parameter|field|value|amount|currency|country|e-?mail|tx_?ref|redirect)/,
  /\bprovide a\b|\bmust (?:be|have|contain)\b/,
  /\bcurrency\b.*\bnot (?:supported|enabled|allowed)/,
  /\bnot (?:supported|enabled|allowed)\b.*\bcurrency/,
]

/** The request failed validation, so nothing was begun. */
export function isValidation(message: string): boolean {
  const normalized = message.toLowerCase()
  return VALIDATION_PATTERNS.some((pattern) => pattern.test(normalized))
}

const MAX_MESSAGE_LENGTH = 200

/** The provider's message without personal or secret data: e-mail addresses, keys, tokens, numbers. */
export function redact(text: string): string {
  return text
    .replaceAll(/\S+@\S+/g, '[address]')
    .replaceAll(/\bflw[\w-]*-\S+/gi, '[key]')
    .replaceAll(/\d(?:[ -]?\d){7,}/g, '[number]')
    .slice(0, MAX_MESSAGE_LENGTH)
}
