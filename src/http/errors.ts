// Maps anything thrown to an error response. An ApiError uses its row of API_ERRORS, an unreachable database is 503,
// and every other error is a 500 whose details go only to the log.

import { API_ERRORS, ApiError } from '../core/errors.ts'
import { DbUnavailable, movedMerchantOf } from '../kit/db/db.ts'

export interface ErrorResponse {
  http: number
  contentType: string
  headers: Record<string, string>
  body: string
}

/** The facts of the failed request that the response repeats. */
export interface FailedRequest {
  requestId: string
  accept: string | undefined
  publicUrl: string
}

/**
 * The ApiError for anything thrown, or undefined for an internal error. `bodyLimit` is the limit of the route's body.
 */
export function apiErrorFor(error: unknown, bodyLimit: number): ApiError | undefined {
  if (error instanceof ApiError) return error
  // A process has died while it moved the merchant, and another one goes on.
  const isMoving = movedMerchantOf(error) !== undefined
  if (error instanceof DbUnavailable || isMoving)
    return new ApiError('temporarily_unavailable', { cause: error })
  return apiErrorForFramework(error, bodyLimit)
}

/** Maps the errors that the framework raises before our code runs. */
function apiErrorForFramework(error: unknown, bodyLimit: number): ApiError | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('payload_too_large', { message: `The body is larger than ${bodyLimit / 1024} KB.` })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('unsupported_media_type')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return badRequest('body', 'The body is not as long as Content-Length says.')
    case 'FST_ERR_BAD_URL':
      return badRequest('path', 'The path is not well percent-encoded UTF-8.')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return badRequest('path', 'A part of the path is too long.')
    // The client closed the connection while it sent the body; it will not read the response.
    case 'ECONNRESET':
      return isBodyError(error) ? badRequest('body', 'The body did not arrive.') : undefined
    default:
      return undefined
  }
}

/**
 * The framework sets statusCode 400 on an interrupted request body. A reset of one of our own outgoing connections
 * has no statusCode.
 */
function isBodyError(error: Error): boolean {
  return 'statusCode' in error && error.statusCode === 400
}

export function badRequest(field: string, message: string): ApiError {
  return new ApiError('validation_failed', { message, details: [{ field, code: 'invalid_format', message }] })
}

/** `http` overrides the status for errors outside API_ERRORS, such as 431. */
export function errorResponse(apiError: ApiError, request: FailedRequest, http?: number): ErrorResponse {
  const headers: Record<string, string> = {}
  if (apiError.retryAfterSeconds !== undefined) headers['retry-after'] = String(apiError.retryAfterSeconds)
  const isProblem = wantsProblem(request.accept)
  const status = http ?? API_ERRORS[apiError.code].http
  // HTTP requires a WWW-Authenticate header on every 401.
  if (status === 401)
    headers['www-authenticate'] =
      apiError.code === 'invalid_admin_token' ? 'Bearer' : 'ApiKey header="x-api-key"'
  return {
    http: status,
    contentType: `application/${isProblem ? 'problem+json' : 'json'}; charset=utf-8`,
    headers,
    body: JSON.stringify(isProblem ? problemOf(apiError, request, status) : envelopeOf(apiError, request)),
  }
}

export function envelopeOf(apiError: ApiError, request: Omit<FailedRequest, 'accept'>): object {
  const { type, retryable } = API_ERRORS[apiError.code]
  const { code, message, details } = apiError
  const docUrl = docUrlOf(request.publicUrl, code)
  const error = { code, type, retryable, requestId: request.requestId, docUrl, details }
  return { status: 'error', message, data: null, error }
}

/** The error as RFC 9457 problem details, with our fields as extension members. */
function problemOf(apiError: ApiError, request: FailedRequest, status: number): object {
  const { type: errorType, retryable, message: title } = API_ERRORS[apiError.code]
  const { code, message: detail, details } = apiError
  const { requestId } = request
  const type = docUrlOf(request.publicUrl, code)
  const instance = `urn:cowry:request:${requestId}`
  return { type, title, status, detail, instance, code, errorType, retryable, requestId, details }
}

function docUrlOf(publicUrl: string, code: string): string {
  return `${publicUrl}/docs/errors#${code}`
}

/** True only if the client names the media type: a wildcard in Accept gets the envelope. */
function wantsProblem(accept: string | undefined): boolean {
  if (!accept?.includes('application/problem+json')) return false
  return !/application\/problem\+json\s*;\s*q=0(\.0+)?\s*(,|$)/.test(accept)
}
