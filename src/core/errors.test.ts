import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { API_ERRORS, ApiError, type ApiErrorCode, errorFromIssues, isApiErrorCode } from './errors.ts'

const PROMISED: Record<number, string> = {
  400: `validation_failed malformed_json invalid_currency country_required invalid_country amount_out_of_range
    amount_precision invalid_uuid missing_reference`,
  401: 'missing_api_key invalid_api_key api_key_expired api_key_revoked',
  403: 'insufficient_scope merchant_suspended mode_mismatch ip_not_allowed',
  404: `route_not_found payment_not_found charge_not_found customer_not_found payment_method_not_found
    recurring_token_not_found`,
  405: 'method_not_allowed',
  409: 'duplicate_reference invalid_state',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: `idempotency_key_reused no_route_available recurring_token_inactive customer_mismatch
    currency_not_supported_for_token card_data_not_allowed`,
  429: 'rate_limited',
  500: 'internal_error',
  503: 'temporarily_unavailable',
}

const TYPES: Record<number, string> = {
  400: 'validation_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'validation_error',
  409: 'conflict_error',
  413: 'validation_error',
  415: 'validation_error',
  422: 'unprocessable_error',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'api_error',
}

describe('the API errors', () => {
  it('have every documented code with its documented status', () => {
    for (const [http, codes] of Object.entries(PROMISED)) {
      for (const code of codes.split(/\s+/)) {
        assert.ok(isApiErrorCode(code), code)
        assert.equal(API_ERRORS[code].http, Number(http), code)
      }
    }
  })

  it('each have the type of their status, and a sentence as their message', () => {
    for (const [code, { http, type, message }] of Object.entries(API_ERRORS)) {
      assert.equal(type, TYPES[http], code)
      assert.match(message, /^[A-Z].*\.$/, code)
    }
  })

  it('are retryable only for a fault of ours or a temporary condition', () => {
    const retryable = Object.entries(API_ERRORS).filter(([, facts]) => facts.retryable)
    assert.deepEqual(
      retryable.map(([code]) => code),
      ['payment_link_busy', 'phone_busy', 'rate_limited', 'internal_error', 'temporarily_unavailable'],
    )
  })

  it('have no codes beside those of the table', () => {
    assert.equal(isApiErrorCode('toString'), false)
    assert.equal(isApiErrorCode('nothing_like_it'), false)
  })
})

describe('an API error made from issues', () => {
  const issue = (field: string, code: string) => ({ field, code, message: `${field} is wrong.` })

  it('takes the code and the message of a single issue', () => {
    const error = errorFromIssues([issue('amount', 'amount_precision')])
    assert.equal(error.code, 'amount_precision')
    assert.equal(error.message, 'amount is wrong.')
    assert.equal(error.details.length, 1)
  })

  it('is validation_failed when the codes differ or a code is not an API error code', () => {
    const mixed = errorFromIssues([issue('amount', 'amount_precision'), issue('reference', 'required')])
    assert.equal(mixed.code, 'validation_failed')
    assert.equal(mixed.message, 'amount is wrong. (1 more in details)')
    assert.deepEqual(
      mixed.details.map(({ field }) => field),
      ['amount', 'reference'],
    )
    assert.equal(errorFromIssues([issue('reference', 'required')]).code, 'validation_failed')
  })

  it('is unknown_field, with that issue first, if one of the issues is', () => {
    const mixed = errorFromIssues([issue('amount', 'required'), issue('amont', 'unknown_field')])
    assert.equal(mixed.code, 'unknown_field')
    assert.equal(mixed.message, 'amont is wrong. (1 more in details)')
    assert.deepEqual(
      mixed.details.map(({ field }) => field),
      ['amont', 'amount'],
    )
  })

  it('needs at least one issue', () => {
    assert.throws(() => errorFromIssues([]), /at least one issue/)
  })

  it('has the message of the table unless the caller passes one', () => {
    const codes = Object.keys(API_ERRORS) as ApiErrorCode[]
    for (const code of codes) assert.equal(new ApiError(code).message, API_ERRORS[code].message)
    assert.equal(new ApiError('invalid_state', { message: 'Not now.' }).message, 'Not now.')
  })
})
