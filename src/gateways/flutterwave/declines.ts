// Why a bank, a network or Flutterwave itself said no. Flutterwave has no codes: it passes on what the other side wrote,
// and those texts differ from bank to bank.

import type { FailureCode } from '../../core/failures.ts'

/** The first line that fits decides, so what is said more exactly stands before what is said more broadly. */
const MESSAGE_PATTERNS: readonly (readonly [RegExp, FailureCode])[] = [
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
  const normalized = text?.toLowerCase().replaceAll('_', ' ') ?? ''
  return MESSAGE_PATTERNS.find(([pattern]) => pattern.test(normalized))?.[1]
}

/** The same reference was sent before, and is refused for a while. */
export function isDuplicate(message: string): boolean {
  return /duplicate transaction|reference already exist/i.test(message)
}

// Flutterwave has answered HTTP 400 with such messages for saved cards that were charged all the same.
const AMBIGUOUS_PATTERN =
  /error (?:has |have )?occur|contact support|econn|socket|time ?out|timed out|(?:server|system|application|internal|processing) error|in progress|being processed|unavailable|malfunction|inoperative/i

/** The message of an error that broke off Flutterwave's work: nobody can tell what was done before. */
export function isAmbiguous(message: string): boolean {
  return AMBIGUOUS_PATTERN.test(message)
}

/** What a bank decides. The other reasons may stand for work that broke off and went on somewhere else. */
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

/** The verdict in the message of an error that has no record beside it. */
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

/** The message of a request that was not even looked into: something about it is missing or not taken. */
export function isValidation(message: string): boolean {
  const normalized = message.toLowerCase()
  return VALIDATION_PATTERNS.some((pattern) => pattern.test(normalized))
}

const MAX_MESSAGE_LENGTH = 200

/** The provider's message without what it may contain: an address, a key or a token, a number. */
export function redact(text: string): string {
  return text
    .replaceAll(/\S+@\S+/g, '[address]')
    .replaceAll(/\bflw[\w-]*-\S+/gi, '[key]')
    .replaceAll(/\d(?:[ -]?\d){7,}/g, '[number]')
    .slice(0, MAX_MESSAGE_LENGTH)
}
