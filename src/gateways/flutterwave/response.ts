// Reads Flutterwave's responses before they are interpreted. Numbers keep their digits, so an amount is never a float.
// Values that are numbers in one response and text in another are text here.

import { Type } from 'typebox'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { fromUnexpectedBody, Maybe, type Unknown, unknown, withoutResponse } from '../reply.ts'

// No length limit: the HTTP client limits the body, and a long text must not make a success unreadable.
export const Text = Type.String()
export const Identity = Type.String({ minLength: 1, maxLength: 255 })

const readEnvelope = schemaReader(
  Type.Object({
    status: Text,
    message: Maybe(Text),
    data: Type.Optional(Type.Unknown()),
    meta: Type.Optional(Type.Unknown()),
  }),
)

export interface ErrorReply {
  kind: 'error'
  http: number
  /** Null if the body is not Flutterwave's, for example an error page of a proxy. */
  providerMessage: string | null
  data: unknown
}

/** `meta`: what the payer does next in a direct charge. */
export type Reply = { kind: 'data'; data: unknown; meta: unknown } | ErrorReply | Unknown

/**
 * The content of the envelope, or why the outcome is unknown. Flutterwave answers 503 for its own timeouts: it may have
 * acted.
 */
export function readReply(result: HttpResult): Reply {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http } = result
  if (http >= 500) return unknown('no_answer', `Flutterwave answered HTTP ${http}`)
  const envelope = readEnvelope(parseExactJson(result.body.toString()))
  const isError = envelope?.status === 'error'
  if (isError || (http >= 400 && http < 500))
    return {
      kind: 'error',
      http,
      providerMessage: isError ? (envelope.message ?? '') : null,
      data: isError ? envelope.data : null,
    }
  return http >= 200 && http < 300 && envelope?.status === 'success'
    ? { kind: 'data', data: envelope.data, meta: envelope.meta }
    : fromUnexpectedBody(result.body, `unreadable response, HTTP ${http}`)
}

/**
 * The message for an operator, for errors about access or load; undefined for all others. The page of a firewall in
 * between is not Flutterwave's word on the key.
 */
export function describeAccessError({ http, providerMessage }: ErrorReply): string | undefined {
  if (providerMessage === null && http !== 429) return undefined
  switch (http) {
    case 401:
      return 'Flutterwave does not accept the secret key (HTTP 401)'
    case 403:
      return 'Flutterwave does not let the secret key do this (HTTP 403)'
    case 429:
      return 'Flutterwave has too many requests of ours (HTTP 429)'
    default:
      return undefined
  }
}

/**
 * Errors after which nothing was begun; a 200 may carry them too. Not 409: a request with the same key may be in
 * progress.
 */
export function isRejection(http: number): boolean {
  return http < 300 || http === 400 || http === 404 || http === 405 || http === 422
}

/** Flutterwave itself refused the key. */
export function isKeyRefused({ http, providerMessage }: ErrorReply): boolean {
  return providerMessage !== null && (http === 401 || http === 403)
}
