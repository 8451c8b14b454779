// Every API error in one table, the only place to add a code. The HTTP layer, the OpenAPI document and the error pages
// use this table.

import { CURRENCY_CODES } from './currency.ts'

export type ApiErrorType =
  | 'validation_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'unprocessable_error'
  | 'rate_limit_error'
  | 'api_error'

interface ApiErrorDefinition {
  http: number
  type: ApiErrorType
  /** Whether the same request may succeed later. */
  retryable: boolean
  message: string
}

const apiError = (
  http: number,
  type: ApiErrorType,
  message: string,
  retryable = false,
): ApiErrorDefinition => ({
  http,
  type,
  retryable,
  message,
})
const invalid = (message: string) => apiError(400, 'validation_error', message)
const notFound = (message: string) => apiError(404, 'not_found_error', message)
const unprocessable = (message: string) => apiError(422, 'unprocessable_error', message)

export const API_ERRORS = {
  validation_failed: invalid('Some fields are missing or not acceptable; details names each of them.'),
  unknown_field: invalid('The operation does not know a field or query parameter; details names it.'),
  malformed_json: invalid('The body is not well-formed JSON.'),
  invalid_currency: invalid(
    `The currency is not one of the ${CURRENCY_CODES.length} that this service collects.`,
  ),
  country_required: invalid('This currency is shared by several countries; name one in country.'),
  invalid_country: invalid('This country does not use this currency.'),
  amount_out_of_range: invalid('The amount must be above 0 and at most 999,999,999,999.99.'),
  amount_precision: invalid('The amount has more decimals than the currency; it is never rounded.'),
  invalid_uuid: invalid('The identifier is not a UUID.'),
  missing_reference: invalid('Name the payment by reference or by uuid.'),
  idempotency_required: invalid(
    'A partial refund needs your own refundReference, unique for each refund, or an Idempotency-Key header, so that a retry cannot refund twice.',
  ),
  api_key_in_url: invalid(
    'Send the API key in the x-api-key header, never in the URL, which is stored in logs and histories. Revoke this key and create another.',
  ),

  missing_api_key: apiError(401, 'authentication_error', 'Send your API key in the x-api-key header.'),
  invalid_api_key: apiError(401, 'authentication_error', 'The API key is not known.'),
  api_key_expired: apiError(401, 'authentication_error', 'The API key has expired; create a new one.'),
  api_key_revoked: apiError(401, 'authentication_error', 'The API key was revoked; create a new one.'),
  invalid_admin_token: apiError(
    401,
    'authentication_error',
    'Send the operator token as Authorization: Bearer.',
  ),

  insufficient_scope: apiError(403, 'permission_error', 'The API key lacks the scope for this operation.'),
  merchant_suspended: apiError(403, 'permission_error', 'The merchant account is suspended.'),
  mode_mismatch: apiError(403, 'permission_error', 'This key belongs to the other environment.'),
  ip_not_allowed: apiError(403, 'permission_error', 'The API key may not be used from this address.'),
  browser_not_allowed: apiError(
    403,
    'permission_error',
    'Call this API from your server, never from a browser: everybody can read a key in a web page. Let your page call your own server, which adds the x-api-key header.',
  ),
  scope_exceeded: apiError(403, 'permission_error', 'An API key cannot grant rights that it does not have.'),

  route_not_found: notFound('There is no such operation.'),
  payment_not_found: notFound('There is no such payment.'),
  charge_not_found: notFound('There is no such charge.'),
  customer_not_found: notFound('There is no such customer.'),
  payment_method_not_found: notFound('There is no such payment method.'),
  recurring_token_not_found: notFound('There is no such recurring token.'),
  user_not_found: notFound('There is no such account of a person.'),
  invitation_not_found: notFound('There is no such open invitation.'),
  merchant_not_found: notFound('There is no such merchant.'),
  api_key_not_found: notFound('There is no such API key.'),
  refund_not_found: notFound('There is no such refund.'),
  payment_link_not_found: notFound('There is no such payment link.'),
  p2p_payment_not_found: notFound('There is no such P2P payment.'),
  p2p_account_not_found: notFound('There is no such receiving account.'),
  webhook_endpoint_not_found: notFound('There is no such webhook endpoint.'),
  event_not_found: notFound('There is no such event.'),
  replay_not_found: notFound('There is no such replay.'),
  gateway_not_found: notFound('There is no such gateway.'),
  reconciliation_not_found: notFound('There is no such reconciliation.'),
  reconciliation_break_not_found: notFound('There is no such break.'),
  case_not_found: notFound('There is no such case.'),
  gateway_account_not_found: notFound('The merchant has no account of its own at this gateway.'),

  method_not_allowed: apiError(405, 'validation_error', 'This path does not support this method.'),
  payload_too_large: apiError(413, 'validation_error', 'The body is larger than 64 KB.'),
  unsupported_media_type: apiError(415, 'validation_error', 'Send the body as application/json.'),

  duplicate_reference: apiError(409, 'conflict_error', 'This reference was used with another body.'),
  customer_exists: apiError(409, 'conflict_error', 'There is a customer with this e-mail already.'),
  payment_link_ended: apiError(409, 'conflict_error', 'The payment link accepts no more payments.'),
  payment_link_busy: apiError(
    409,
    'conflict_error',
    'Other payments are in progress at this link; try again soon.',
    true,
  ),
  phone_busy: apiError(
    409,
    'conflict_error',
    'A payment request is open on this phone. Approve or decline it there, or let it end; then try again.',
    true,
  ),
  case_resolved: apiError(409, 'conflict_error', 'This case was resolved in another way already.'),
  case_awaiting_approval: apiError(
    409,
    'conflict_error',
    'Another resolution of this case waits for approval.',
  ),
  proof_already_used: apiError(
    409,
    'conflict_error',
    'This reference of the provider proves another payment.',
  ),
  approver_not_independent: apiError(
    409,
    'conflict_error',
    'The key that approves was created or rotated with the key that proposed, or with the same key as that one. Use a key of another person, which the operator has created.',
  ),
  refund_approval_required: apiError(
    409,
    'conflict_error',
    'From this amount on, a second person must approve the refund.',
  ),
  invalid_state: apiError(409, 'conflict_error', 'The record is not in a state that allows this.'),

  idempotency_key_reused: unprocessable('This Idempotency-Key was used with another body.'),
  no_route_available: unprocessable(
    'No configured gateway serves this currency, country and amount. GET /api/v1/misc/gateways lists your gateways and what each collects; GET /api/v1/misc/routes says why each is left out; the operator of this service adds gateways.',
  ),
  recurring_token_inactive: unprocessable('The recurring token was revoked or has expired.'),
  customer_mismatch: unprocessable('The recurring token belongs to a customer with another e-mail.'),
  currency_not_supported_for_token: unprocessable('The saved method cannot be charged in this currency.'),
  customer_blocked: unprocessable('This customer is blocked and cannot pay or be charged.'),
  refund_exceeds_amount: unprocessable('All refunds together cannot exceed the paid amount.'),
  resolution_not_possible: unprocessable('A case of this kind cannot be resolved in this way.'),
  refund_not_supported: unprocessable('The gateway of this payment cannot send money back.'),
  partial_refund_not_supported: unprocessable(
    'The gateway of this payment returns only the whole amount. Leave out amount.',
  ),
  p2p_account_required: unprocessable('There is no receiving account for this currency and country.'),
  too_many_webhook_endpoints: unprocessable('A merchant has at most 20 webhook endpoints; delete one first.'),
  webhook_url_not_allowed: unprocessable('Events cannot be delivered to this address.'),
  gateway_credentials_refused: unprocessable('The gateway refused these credentials; nothing was changed.'),
  too_many_api_keys: unprocessable('The merchant has the maximum number of live API keys; revoke one first.'),
  card_data_not_allowed: unprocessable('A card number must never be sent to this service.'),

  rate_limited: apiError(
    429,
    'rate_limit_error',
    'Too many requests; wait for the time in Retry-After.',
    true,
  ),

  internal_error: apiError(500, 'api_error', 'Something went wrong on our side.', true),
  temporarily_unavailable: apiError(503, 'api_error', 'The service is busy; try again shortly.', true),
} as const satisfies Record<string, ApiErrorDefinition>

export type ApiErrorCode = keyof typeof API_ERRORS

/** One validation issue about one field. Its code is an API error code or a keyword of the schema, such as required. */
export interface Issue {
  field: string
  code: string
  message: string
}

interface ApiErrorOptions {
  message?: string
  details?: Issue[]
  retryAfterSeconds?: number
  cause?: unknown
}

/** A request that we refuse. Any slice throws it; the HTTP layer turns it into a response. */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  readonly details: Issue[]
  readonly retryAfterSeconds: number | undefined

  constructor(code: ApiErrorCode, options: ApiErrorOptions = {}) {
    super(options.message ?? API_ERRORS[code].message, { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.details = options.details ?? []
    // A 503 always carries Retry-After.
    const fallback = code === 'temporarily_unavailable' ? 1 : undefined
    this.retryAfterSeconds = options.retryAfterSeconds ?? fallback
  }
}

/** The record that the caller asked for, or the API error that there is none. */
export function requireFound<Found>(found: Found | undefined, code: ApiErrorCode): Found {
  if (found === undefined) throw new ApiError(code)
  return found
}

export function isApiErrorCode(code: string): code is ApiErrorCode {
  return Object.hasOwn(API_ERRORS, code)
}

/**
 * One API error for all issues of a request. It has the code of the issues if they all share one. An unknown field comes
 * first, because it usually explains the others: amount is missing where amont was sent.
 */
export function errorFromIssues(issues: Issue[]): ApiError {
  const details = issues.toSorted((one, other) => rankOf(one) - rankOf(other))
  const first = details[0]
  if (!first) throw new Error('an API error from issues needs at least one issue')
  const sharesCode = first.code === 'unknown_field' || details.every(({ code }) => code === first.code)
  const code = sharesCode && isApiErrorCode(first.code) ? first.code : 'validation_failed'
  const others = details.length - 1
  const message = others > 0 ? `${first.message} (${others} more in details)` : first.message
  return new ApiError(code, { details, message })
}

function rankOf({ code }: Issue): number {
  return code === 'unknown_field' ? 0 : 1
}

export function newIssue(
  field: string,
  code: ApiErrorCode,
  message: string = API_ERRORS[code].message,
): Issue {
  return { field, code, message }
}
