// From anything thrown to an answer, once, for the whole service: the merchant's mistake by its row of API_ERRORS, a
// database that does not answer as 503, and everything else as our own mistake, of which only the log learns more.

import { API_ERRORS, ApiError } from '../core/errors.ts'
import { DbUnavailable } from '../kit/db.ts'

export interface ErrorResponse {
  http: number
  contentType: string
  headers: Record<string, string>
  body: string
}

/** What an answer says about the request that it refuses. */
export interface FailedRequest {
  requestId: string
  accept: string | undefined
  publicUrl: string
}

/** The apiError for anything thrown, or undefined when it was our own mistake. The limit is that of the route's body. */
export function apiErrorFor(error: unknown, bodyLimit: number): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (error instanceof DbUnavailable) return new ApiError('temporarily_unavailable', { cause: error })
  return apiErrorForFramework(error, bodyLimit)
}

/** The framework finds some faults before we do; they are told in our words. */
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
    // The caller left while the body was on its way; nobody will read the answer.
    case 'ECONNRESET':
      return isBodyError(error) ? badRequest('body', 'The body did not arrive.') : undefined
    default:
      return undefined
  }
}

/** The framework marks a body that broke off with 400; a reset connection of our own to somewhere else has no mark. */
function isBodyError(error: Error): boolean {
  return 'statusCode' in error && error.statusCode === 400
}

export function badRequest(field: string, message: string): ApiError {
  return new ApiError('validation_failed', { message, details: [{ field, code: 'invalid_format', message }] })
}

/** `http` is for faults below the table, such as 431, which no apiError code has. */
export function errorResponse(apiError: ApiError, request: FailedRequest, http?: number): ErrorResponse {
  const headers: Record<string, string> = {}
  if (apiError.retryAfterSeconds !== undefined) headers['retry-after'] = String(apiError.retryAfterSeconds)
  const isProblem = wantsProblem(request.accept)
  const status = http ?? API_ERRORS[apiError.code].http
  // HTTP wants every 401 to name the scheme.
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

/** RFC 9457, with our own words as extension members. */
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

/** Only somebody who names the type means it: a browser's or a client's wildcard gets the envelope. */
function wantsProblem(accept: string | undefined): boolean {
  if (!accept?.includes('application/problem+json')) return false
  return !/application\/problem\+json\s*;\s*q=0(\.0+)?\s*(,|$)/.test(accept)
}
