// The parts of the document that every operation shares: the envelope, errors, headers and their examples.

import { API_ERRORS, ApiError, type ApiErrorCode } from '../../core/errors.ts'
import type { Route } from '../../kit/http/route.ts'
import { envelopeOf } from '../errors.ts'
import type { JsonSchema } from '../input/json-schema.ts'

const text = (description: string, more: object = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
})
const object = (properties: JsonSchema, required = Object.keys(properties)): JsonSchema => ({
  type: 'object',
  required,
  properties,
})

const DETAILS: JsonSchema = {
  type: 'array',
  description: 'One entry for each field that was not acceptable.',
  items: object({
    field: text('Dotted path of the field, such as customer.email.'),
    code: text('An error code, or a validation code such as required.'),
    message: text('What to change.'),
  }),
}

const TYPES = [...new Set(Object.values(API_ERRORS).map((facts) => facts.type))]
const CODE = text('Never changes; branch on this.', { enum: Object.keys(API_ERRORS) })
const RETRYABLE: JsonSchema = {
  type: 'boolean',
  description: 'Whether the same request may succeed later without being changed.',
}
const REQUEST_ID = text('Quote it when you ask for help.')

export const SCHEMAS: JsonSchema = {
  Error: object({
    status: { type: 'string', const: 'error' },
    message: text('For people; may change.'),
    data: { type: 'null' },
    error: object({
      code: CODE,
      type: text('The family of the code.', { enum: TYPES }),
      retryable: RETRYABLE,
      requestId: REQUEST_ID,
      docUrl: text('Where this code is explained.'),
      details: DETAILS,
    }),
  }),
  Problem: object({
    type: text('Where this code is explained.'),
    title: text('What the code means.'),
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: text('What was wrong with this request.'),
    instance: text('Names this request.'),
    code: CODE,
    errorType: text('The family of the code.', { enum: TYPES }),
    retryable: RETRYABLE,
    requestId: REQUEST_ID,
    details: DETAILS,
  }),
  PageMeta: object({
    page: { type: 'integer', minimum: 1 },
    limit: { type: 'integer', minimum: 1 },
    total: { type: 'integer', minimum: 0, description: 'Exact up to 10,000.' },
    totalIsCapped: { type: 'boolean', description: 'There are more records than total.' },
    pageCount: { type: 'integer', minimum: 0 },
    hasNext: { type: 'boolean' },
    hasPrevious: { type: 'boolean' },
    nextCursor: { type: ['string', 'null'], description: 'Send it as cursor to read the next page.' },
  }),
}

const header = (description: string, type = 'string') => ({ description, schema: { type } })

export const HEADERS: JsonSchema = {
  'X-Request-Id': header(
    'Names this request; taken from the request when it carries one of 8 to 128 plain characters.',
  ),
  'RateLimit-Policy': header('The limit of the key: q requests at once, refilled within w seconds.'),
  RateLimit: header('What is left of it: r requests, full again in t seconds.'),
  'Retry-After': header('Seconds to wait before the next try.', 'integer'),
  'Idempotent-Replayed': header(
    'true when the record was created by an earlier request with the same key or reference.',
  ),
}

export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A retry with the same key and body returns the record that the first request created or changed, in its current state, and changes nothing. The same key with another body is refused as idempotency_key_reused.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
}

const AUTHENTICATION_ERRORS: ApiErrorCode[] = [
  'api_key_in_url',
  'missing_api_key',
  'invalid_api_key',
  'api_key_expired',
  'api_key_revoked',
  'insufficient_scope',
  'merchant_suspended',
  'mode_mismatch',
  'ip_not_allowed',
]
const BODY_ERRORS: ApiErrorCode[] = ['malformed_json', 'payload_too_large', 'unsupported_media_type']
const COMMON_ERRORS: ApiErrorCode[] = ['rate_limited', 'internal_error', 'temporarily_unavailable']

/** Every error code that an operation can return, including the codes of all operations. */
export function errorCodesOf(route: Route): ApiErrorCode[] {
  return [
    ...new Set<ApiErrorCode>([
      'validation_failed',
      'unknown_field',
      ...(route.method === 'GET' ? [] : BODY_ERRORS),
      ...AUTHENTICATION_ERRORS,
      ...route.errors,
      ...(route.method === 'POST' ? (['idempotency_key_reused'] as const) : []),
      ...COMMON_ERRORS,
    ]),
  ]
}

export const EXAMPLE_REQUEST_ID = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

const EXAMPLE_DETAILS: Partial<Record<ApiErrorCode, ApiError['details']>> = {
  validation_failed: [
    { field: 'customer.email', code: 'required', message: 'customer.email is required.' },
    { field: 'reference', code: 'too_long', message: 'reference must be at most 100 characters long.' },
  ],
  unknown_field: [
    {
      field: 'amont',
      code: 'unknown_field',
      message: 'amont is not a field of this request; did you mean amount?',
    },
  ],
  malformed_json: [
    { field: 'body', code: 'malformed_json', message: 'Unexpected character at line 3, column 12.' },
  ],
  invalid_uuid: [{ field: 'uuid', code: 'invalid_uuid', message: 'uuid must be a UUID in lower case.' }],
}

/** One example per code, shared by all operations. */
export function errorExamples(publicUrl: string): JsonSchema {
  const request = { requestId: EXAMPLE_REQUEST_ID, publicUrl }
  const codes = Object.keys(API_ERRORS).filter((code) => Object.hasOwn(API_ERRORS, code))
  // A boundary: Object.keys of a constant object returns exactly the keys of its type.
  const entries = (codes as ApiErrorCode[]).map((code) => {
    const apiError = new ApiError(code, { details: EXAMPLE_DETAILS[code] })
    return [code, { summary: API_ERRORS[code].message, value: envelopeOf(apiError, request) }] as const
  })
  return Object.fromEntries(entries)
}

/** The documented response for all codes with the same HTTP status. */
export function errorResponseObject(codes: readonly ApiErrorCode[]): JsonSchema {
  const isRetryable = codes.some((code) => API_ERRORS[code].retryable)
  return {
    description: codes.map((code) => `\`${code}\`: ${API_ERRORS[code].message}`).join('\n\n'),
    headers: headerRefs(['X-Request-Id', ...(isRetryable ? ['Retry-After'] : [])]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
    },
  }
}

export function headerRefs(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
