// Calls of Wave's API, and what its responses have in common. An error is a JSON object with a code; only the code is
// passed on, because a message may repeat what we sent.

import { Type } from 'typebox'
import type { Clock } from '../../kit/clock.ts'
import { hmacSha256 } from '../../kit/crypto.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection } from '../definition.ts'
import { fromUnexpectedBody, type Unknown, unknown, withoutResponse } from '../reply.ts'

export interface Client {
  get(path: string): Promise<HttpResult>
  /** Without fields the request has no body. */
  post(path: string, fields?: object, headers?: Record<string, string>): Promise<HttpResult>
}

export function createClient({ credentials, baseUrl, http, clock }: Connection): Client {
  const { apiKey, signingSecret } = credentials
  const headersFor = (body: string) => ({
    authorization: `Bearer ${apiKey}`,
    accept: 'application/json',
    ...(signingSecret && { 'wave-signature': signRequest(signingSecret, clock, body) }),
  })

  return {
    get: (path) => http.request({ method: 'GET', url: `${baseUrl}${path}`, headers: headersFor('') }),

    post(path, fields, headers) {
      const body = fields && JSON.stringify(fields)
      return http.request({
        method: 'POST',
        url: `${baseUrl}${path}`,
        headers: {
          ...headersFor(body ?? ''),
          ...(body && { 'content-type': 'application/json' }),
          ...headers,
        },
        body,
      })
    },
  }
}

/** The time and the body without anything between them; a request without a body signs the time alone. */
function signRequest(secret: string, clock: Clock, body: string): string {
  const seconds = Math.floor(clock.now().getTime() / 1_000)
  return `t=${seconds},v1=${hmacSha256(secret, `${seconds}${body}`).toString('hex')}`
}

const Code = Type.String({ pattern: '^[A-Za-z0-9_-]{1,80}$' })

// Public transcriptions of the documentation have both forms.
const readErrorBody = jsonReader(Type.Object({ code: Code }))
const readNestedError = jsonReader(Type.Object({ error: Type.Object({ code: Code }) }))

export interface ErrorReply {
  kind: 'error'
  http: number
  code: string
}

/** The content of a response, Wave's error, or why the outcome is unknown. */
export function readReply<Body>(
  result: HttpResult,
  read: (body: Buffer) => Body | undefined,
): { kind: 'body'; body: Body } | ErrorReply | Unknown {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http } = result
  if (http >= 500) return unknown('no_answer', `Wave answered HTTP ${http}`)
  if (http >= 400) return readError(result.body, http)
  const body = http >= 200 && http < 300 ? read(result.body) : undefined
  if (body === undefined) return fromUnexpectedBody(result.body, `unreadable response, HTTP ${http}`)
  return { kind: 'body', body }
}

/** The page of a firewall says nothing about our key; a rate limit may come from a front-end server. */
function readError(body: Buffer, http: number): ErrorReply | Unknown {
  const code = readErrorBody(body)?.code ?? readNestedError(body)?.error.code
  if (code === undefined && http !== 429) return fromUnexpectedBody(body, `unreadable response, HTTP ${http}`)
  return { kind: 'error', http, code: code ?? 'too-many-requests' }
}

/** The message for an operator. */
export function describeError({ http, code }: ErrorReply): string {
  const isAboutKey = http === 401 || http === 403
  const about = isAboutKey ? 'does not accept the API key or its wallet' : 'refused the request'
  return `Wave ${about} (HTTP ${http}, ${code})`
}
