// Parses the bytes of a request into a JSON object, and collects facts that the parsed value loses. Refuses
// everything that is not a UTF-8 JSON object, with a message that says how to correct it.

import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError, errorFromIssues } from '../../core/errors.ts'
import type { BodyFacts } from '../../kit/http/route.ts'
import { fieldName } from './characters.ts'
import { scanJson } from './json-scan.ts'
import { isSchema } from './json-schema.ts'

export interface JsonBody {
  value: Record<string, unknown>
  facts: BodyFacts
}

/** The size limit of a merchant or operator request body, in bytes. */
export const JSON_BODY_LIMIT = 65_536

const BYTE_ORDER_MARK = 0xfeff

/**
 * A change without any field is probably an error of the caller, so PATCH and PUT need a body. Another operation needs
 * one only if a field of it is required.
 */
export function isBodyRequired({ method, body }: { method: string; body?: unknown }): boolean {
  if (!isSchema(body)) return false
  return method === 'PATCH' || method === 'PUT' || (Array.isArray(body.required) && body.required.length > 0)
}

/**
 * Refuses unsupported content types, encodings and charsets before the body is read. Without a body they mean nothing:
 * many clients send a default type with every request.
 */
export function requireJsonHeaders(headers: IncomingHttpHeaders): void {
  if (!hasBody(headers)) return
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported(`Send the body without Content-Encoding; ${JSON.stringify(encoding)} is not read.`)
  const contentType = headers['content-type']
  if (contentType === undefined) throw unsupported('Send the body with Content-Type: application/json.')
  const [mediaType = '', ...parameters] = contentType.toLowerCase().split(';')
  if (mediaType.trim() !== 'application/json') throw unsupported()
  for (const parameter of parameters) {
    if (/^\s*charset\s*=/.test(parameter) && !/^\s*charset\s*=\s*"?utf-?8"?\s*$/.test(parameter))
      throw unsupported('Send the body in UTF-8; no other charset is read.')
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function unsupported(message?: string): ApiError {
  return new ApiError('unsupported_media_type', { message })
}

/** With `mayBeEmpty`, no body equals an empty object. */
export function readJsonBody(bytes: unknown, mayBeEmpty = false): JsonBody {
  // The framework passes undefined if there is no content type and no body.
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) {
    if (mayBeEmpty) return { value: {}, facts: { lossyNumbers: new Set() } }
    throw malformed('The body is empty; send a JSON object.')
  }
  if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  // Some editors and languages write a byte order mark; the standard allows a reader to skip it.
  return readJsonText(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text)
}

function readJsonText(text: string): JsonBody {
  const facts = scanJson(text)
  // JSON.parse silently takes the last of two equal keys, so a system before us may have checked another amount.
  if (facts.duplicateKeys.size > 0) throw duplicateKeys([...facts.duplicateKeys])
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const message = 'The body must be a JSON object.'
    throw new ApiError('validation_failed', {
      message,
      details: [{ field: 'body', code: 'invalid_type', message }],
    })
  }
  // A boundary: an object that is not an array has string keys, and its values stay unknown.
  return { value: value as Record<string, unknown>, facts }
}

function malformed(message: string): ApiError {
  return new ApiError('malformed_json', {
    message,
    details: [{ field: 'body', code: 'malformed_json', message }],
  })
}

/** A hostile body could contain thousands, so the response names at most this many. */
const MAX_NAMED_KEYS = 20

function duplicateKeys(fields: string[]): ApiError {
  const details = fields.slice(0, MAX_NAMED_KEYS).map((path) => {
    const field = fieldName([path])
    return { field, code: 'duplicate_key', message: `${field} is written more than once; send it once.` }
  })
  return errorFromIssues(details)
}
