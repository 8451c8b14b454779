// Classifies a response of Paystack: data, a refusal, or unknown. Every response is an envelope: {"status": true,
// "message": "…", "data": …}, or status false without data.

import { Type } from 'typebox'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { fromUnexpectedBody, Maybe, type Unknown, unknown, withoutResponse } from '../reply.ts'
import { Text } from './json.ts'

export interface ErrorReply {
  kind: 'refused'
  http: number
  /** Paystack's text: used for decisions, never shown. */
  providerMessage: string
  /** validation_error, api_error, processor_error, or nothing. */
  type: string
  code: string
  /** For operators. */
  message: string
}

export type Reply = { kind: 'data'; data: unknown } | ErrorReply | Unknown

const readEnvelope = schemaReader(
  Type.Object({
    status: Type.Boolean(),
    message: Maybe(Text(2_000)),
    data: Type.Optional(Type.Unknown()),
    type: Maybe(Text()),
    code: Maybe(Text()),
  }),
)

const INVALID_KEY_MESSAGE = 'Paystack does not accept the secret key (secretKey, GATEWAY_PAYSTACK_SECRET_KEY)'

export function readReply(result: HttpResult): Reply {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http } = result
  const envelope = readEnvelope(parseExactJson(result.body.toString()))
  switch (http) {
    case 200:
    case 201:
      if (envelope?.status) return { kind: 'data', data: envelope.data }
      return fromUnexpectedBody(result.body, `unreadable response of Paystack, HTTP ${http}`)
    case 429:
      return refused(http, 'Paystack reports too many requests')
    case 400:
    case 401:
    case 403:
    case 404:
    case 422:
      // The page of a proxy or firewall in between is not a response of Paystack.
      if (envelope?.status !== false)
        return fromUnexpectedBody(result.body, `unreadable response of Paystack, HTTP ${http}`)
      if (http === 401 || http === 403) return refused(http, INVALID_KEY_MESSAGE)
      if (isInvalidKey(envelope)) return refused(401, INVALID_KEY_MESSAGE)
      return refused(http, `Paystack refuses: ${redact(envelope.message || 'no reason given')}`, envelope)
    default:
      // An error of Paystack, or a conflict: a request with the same reference may be in progress.
      return unknown('no_answer', `Paystack answered HTTP ${http}`)
  }
}

type Envelope = NonNullable<ReturnType<typeof readEnvelope>>

function refused(http: number, message: string, envelope: Partial<Envelope> = {}): ErrorReply {
  const { message: providerMessage, type, code } = envelope
  // Paystack documents the same three values under type in one place and under code in another.
  const errorType = [type, code].find((word) => word?.endsWith('_error'))
  return {
    kind: 'refused',
    http,
    providerMessage: providerMessage ?? '',
    type: errorType ?? '',
    code: code ?? '',
    message,
  }
}

/** Some of Paystack's samples use 400 instead of 401. */
function isInvalidKey({ message }: Envelope): boolean {
  return /^invalid key$/i.test(message ?? '')
}

/** A rejected status check: it says nothing about the payment. A wrong key or a rate limit concerns every check. */
export function fromRefusedQuery({ http, message }: ErrorReply): Unknown {
  return unknown(http === 401 || http === 403 || http === 429 ? 'no_answer' : 'unrecognized', message)
}

export function isUnknown(reply: Reply): reply is Unknown {
  return reply.kind === 'unknown'
}

/** The reference is taken: Paystack already has this payment and does not execute it again. */
export function isDuplicate(reply: Reply): boolean {
  if (reply.kind !== 'refused') return false
  return reply.code === 'duplicate_reference' || /duplicate\b.*\breference/i.test(reply.providerMessage)
}

const MAX_MESSAGE_LENGTH = 200

/** The provider's text without data that must not be logged: e-mail addresses, keys, tokens, long numbers. */
export function redact(text: string): string {
  return text
    .replaceAll(/\S+@\S+/g, '…')
    .replaceAll(/\b(?:sk|pk)_\w+|\bAUTH_\w+/g, '…')
    .replaceAll(/\d(?:[ -]?\d){8,}/g, '…')
    .slice(0, MAX_MESSAGE_LENGTH)
}
