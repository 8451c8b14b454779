// The parts of the document that every operation shares: the envelope, errors, headers and their examples.

import { API_ERRORS, ApiError, type ApiErrorCode } from '../../core/errors.ts'
import { LONGEST_REQUEST_ID } from '../../core/text/formats.ts'
import type { OperatorRoute, Route } from '../../kit/http/route.ts'
import { envelopeOf } from '../errors.ts'
import type { JsonSchema } from '../input/json-schema.ts'
import { openValues } from './documented-schema.ts'

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

const objectWithOptional = (optional: readonly string[], properties: JsonSchema) =>
  object(
    properties,
    Object.keys(properties).filter((name) => !optional.includes(name)),
  )

const pageMeta = (optional: JsonSchema = {}): JsonSchema => ({
  description: 'Which page of the list this is, and whether there are more.',
  ...objectWithOptional(['archivedBefore', ...Object.keys(optional)], {
    page: { type: 'integer', minimum: 1, description: 'The number of this page, from 1.' },
    limit: { type: 'integer', minimum: 1, description: 'The number of records that a page may have.' },
    total: {
      type: 'integer',
      minimum: 0,
      description: 'The number of records of the list. Exact up to 10,000, of a search up to 500.',
    },
    totalIsCapped: { type: 'boolean', description: 'Whether there are more records than total.' },
    pageCount: { type: 'integer', minimum: 0, description: 'The number of pages that total makes.' },
    hasNext: { type: 'boolean', description: 'Whether there is a page after this one.' },
    hasPrevious: { type: 'boolean', description: 'Whether there is a page before this one.' },
    nextCursor: {
      type: ['string', 'null'],
      description: 'Send it as `cursor` to read the next page. Null on the last page.',
    },
    archivedBefore: { type: 'string', description: 'Older ones are archived.' },
    ...optional,
  }),
})

export const SCHEMAS: JsonSchema = {
  Error: object({
    status: { type: 'string', const: 'error', description: 'Always error; a success has success.' },
    message: text('What was wrong with this request, for people. It may change.'),
    data: { type: 'null', description: 'Always null.' },
    error: { $ref: '#/components/schemas/ErrorInfo', description: 'What was wrong, for programs.' },
  }),
  ErrorInfo: object({
    code: openValues(
      { $ref: '#/components/schemas/ErrorCode' },
      { description: 'What was wrong. A code never changes: branch on it. Later versions may have others.' },
    ),
    type: { $ref: '#/components/schemas/ErrorType', description: 'The family of the code.' },
    retryable: {
      type: 'boolean',
      description: 'Whether the same request may succeed later without being changed.',
    },
    requestId: text('The id of the request, as in X-Request-Id. Quote it when you ask for help.'),
    docUrl: text('Where this code is explained.'),
    details: {
      type: 'array',
      description: 'One entry for each field that was not acceptable.',
      items: { $ref: '#/components/schemas/ErrorIssue' },
    },
  }),
  ErrorIssue: object({
    field: text('Dotted path of the field, such as customer.email.'),
    code: text('An error code, or a validation code such as required.'),
    message: text('What to change.'),
  }),
  ErrorCode: text('The codes of this version. A code never changes.', { enum: Object.keys(API_ERRORS) }),
  ErrorType: text('The family of the code.', {
    enum: [...new Set(Object.values(API_ERRORS).map((facts) => facts.type))],
  }),
  PageMeta: pageMeta(),
}

const header = (description: string, type = 'string') => ({ description, schema: { type } })

/** Those that the operators' document has in place of the same in SCHEMAS. */
export const OPERATOR_SCHEMAS: JsonSchema = {
  PageMeta: pageMeta({
    unavailableCells: {
      type: 'array',
      items: { type: 'string' },
      description:
        'The names of the cells that do not answer: `data` and `total` lack their records. Absent if every cell answers.',
    },
  }),
}

export const HEADERS: JsonSchema = {
  'X-Request-Id': header(
    `Names this request; taken from the request when it carries one of 8 to ${LONGEST_REQUEST_ID} plain characters.`,
  ),
  'Retry-After': header('Seconds to wait before the next try.', 'integer'),
  'Idempotent-Replayed': header(
    'true when the record was created by an earlier request with the same key or reference.',
  ),
}

/** Of a file; a page of a list says it in its meta. */
export const ARCHIVED_HEADER: JsonSchema = { 'Archived-Before': header('Older ones are archived.') }

export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
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

/** Every error code that an operation of merchants can return, including the codes of all operations. */
export function merchantErrorCodes(route: Route): ApiErrorCode[] {
  const replayErrors: ApiErrorCode[] = route.method === 'POST' ? ['idempotency_key_reused'] : []
  return errorCodes(route, AUTHENTICATION_ERRORS, replayErrors)
}

/** The same for an operation of operators. */
export function operatorErrorCodes(route: OperatorRoute): ApiErrorCode[] {
  return errorCodes(route, ['invalid_admin_token', ...fieldErrorCodes(route)], [])
}

/** The codes that the fields of a request name themselves, such as invalid_uuid. */
function fieldErrorCodes({ params, query, body }: OperatorRoute): ApiErrorCode[] {
  const found = new Set<ApiErrorCode>()
  JSON.stringify([params, query, body], (keyword, value) => {
    if (keyword === 'x-code') found.add(value)
    return value
  })
  return [...found]
}

function errorCodes(
  { method, errors }: Pick<OperatorRoute, 'method' | 'errors'>,
  authentication: readonly ApiErrorCode[],
  replay: readonly ApiErrorCode[],
): ApiErrorCode[] {
  const input: ApiErrorCode[] = [
    'validation_failed',
    'unknown_field',
    ...(method === 'GET' ? [] : BODY_ERRORS),
  ]
  return [...new Set([...input, ...authentication, ...errors, ...replay, ...COMMON_ERRORS])]
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

/** One example for each of these codes, shared by all operations. */
export function errorExamples(publicUrl: string, codes: ReadonlySet<ApiErrorCode>): JsonSchema {
  const request = { requestId: EXAMPLE_REQUEST_ID, publicUrl }
  // A boundary: Object.keys of a constant object returns exactly the keys of its type. Their order is that of the table.
  const ordered = (Object.keys(API_ERRORS) as ApiErrorCode[]).filter((code) => codes.has(code))
  const entries = ordered.map((code) => {
    const apiError = new ApiError(code, { details: EXAMPLE_DETAILS[code] })
    return [code, { value: envelopeOf(apiError, request) }] as const
  })
  return Object.fromEntries(entries)
}

export const STATUS_NAMES: Readonly<Record<string, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
}

/** The documented response for all codes with the same HTTP status. */
export function errorResponseObject(codes: readonly ApiErrorCode[]): JsonSchema {
  const isRetryable = codes.some((code) => API_ERRORS[code].retryable)
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: headerRefs(['X-Request-Id', ...(isRetryable ? ['Retry-After'] : [])]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  }
}

export function headerRefs(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
