// Reads Chapa's responses before they are interpreted: {message, status, data}. Numbers keep their digits, so an amount is
// never a float. A status check of an unpaid page is an error with HTTP 404, so errors are passed on with their message.

import { Type } from 'typebox'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { fromUnexpectedBody, Maybe, type Unknown, unknown, withoutResponse } from '../reply.ts'

// No length limit: the HTTP client limits the body, and a long text must not make a success unreadable.
export const Text = Type.String()
export const Identity = Type.String({ minLength: 1, maxLength: 255 })
export const Decimal = Type.String({ pattern: '^[0-9]{1,15}(\\.[0-9]{1,10})?$' })

// The message of a validation error is an object with a list for each field.
const readEnvelope = schemaReader(
  Type.Object({
    message: Type.Union([Text, Type.Record(Text, Type.Unknown())]),
    status: Maybe(Text),
    data: Type.Optional(Type.Unknown()),
  }),
)

export interface ErrorReply {
  kind: 'error'
  http: number
  /** Chapa's own words, or the names of the invalid fields. Only for comparisons: it may repeat what we sent. */
  words: string
}

export type Reply = { kind: 'data'; status: string; data: unknown } | ErrorReply | Unknown

export function readReply(result: HttpResult): Reply {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http } = result
  if (http >= 500) return unknown('no_answer', `Chapa answered HTTP ${http}`)
  const envelope = readEnvelope(parseExactJson(result.body.toString()))
  // A rate limit may come from a front-end server; any other page says nothing about our request.
  if (http === 429) return { kind: 'error', http, words: '' }
  if (!envelope) return fromUnexpectedBody(result.body, `unreadable response, HTTP ${http}`)
  if (http >= 400) return { kind: 'error', http, words: wordsOf(envelope.message) }
  return http >= 200 && http < 300
    ? { kind: 'data', status: envelope.status ?? '', data: envelope.data }
    : fromUnexpectedBody(result.body, `unreadable response, HTTP ${http}`)
}

function wordsOf(message: string | Record<string, unknown>): string {
  return typeof message === 'string' ? message : `invalid: ${Object.keys(message).join(', ')}`
}

const MAX_WORDS = 150

/** The message for an operator. Words that may contain an e-mail or a key are left out. */
export function describeError({ http, words }: ErrorReply): string {
  if (http === 401 || http === 403) return `Chapa does not accept the secret key (HTTP ${http})`
  if (http === 429) return 'Chapa has too many requests of ours (HTTP 429)'
  const isPlain = words !== '' && words.length <= MAX_WORDS && /^[\w\s.,:;’'()/-]+$/.test(words)
  const isSafe = isPlain && !/CHA(?:SECK|PUBK)/.test(words)
  return isSafe ? `Chapa answered HTTP ${http}: ${words}` : `Chapa answered HTTP ${http}`
}

/** Chapa refused the key itself. */
export const isKeyRefused = ({ http }: ErrorReply) => http === 401 || http === 403
