// Parses a response of Stripe before it is interpreted: the requested object, Stripe's error, or unknown. We do not
// pass on Stripe's messages, because they quote e-mail addresses, keys and saved cards. Its codes say the same, and the
// request id leads to the message in the dashboard.

import { type Static, Type } from 'typebox'
import { parseJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { fromUnexpectedBody, Maybe, type Unknown, unknown, withoutResponse } from '../reply.ts'
import { Text } from './shapes.ts'

const StripeError = Type.Object({
  type: Text(100),
  code: Maybe(Text(100)),
  decline_code: Maybe(Text(100)),
  param: Maybe(Text(500)),
  // An error that contains the payment occurred after the payment had begun. The caller parses it.
  payment_intent: Type.Optional(Type.Unknown()),
})
export type StripeError = Static<typeof StripeError>

const readErrorBody = schemaReader(Type.Object({ error: StripeError }))

export interface ErrorReply {
  kind: 'error'
  http: number
  /** Absent if the body is not Stripe's: a proxy may have answered. */
  error: StripeError | undefined
  requestId: string | undefined
}

export type Reply<Body> = { kind: 'body'; body: Body } | ErrorReply | Unknown

export function readReply<Body>(
  result: HttpResult,
  readBody: (value: unknown) => Body | undefined,
): Reply<Body> {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status, headers, body } = result
  if (status >= 500) return unknown('no_answer', `Stripe answered HTTP ${status}`)
  const value = parseJson(body.toString())
  if (status >= 200 && status < 300) {
    const read = readBody(value)
    return read === undefined
      ? fromUnexpectedBody(body, `unreadable response of Stripe, HTTP ${status}`)
      : { kind: 'body', body: read }
  }
  const requestId = headers['request-id']
  return {
    kind: 'error',
    http: status,
    error: readErrorBody(value)?.error,
    requestId: requestId && /^req_\w{1,60}$/.test(requestId) ? requestId : undefined,
  }
}

/** A rate limit or a lock at Stripe: nothing was begun, and a retry may succeed. */
export function isBusy({ http, error }: ErrorReply): boolean {
  const { code } = error ?? {}
  return http === 429 || (http === 400 && (code === 'rate_limit' || code === 'lock_timeout'))
}

/** Stripe itself refused the key: the page of a firewall in between says nothing about it. */
export function isKeyRefused({ http, error }: ErrorReply): boolean {
  return error !== undefined && (http === 401 || http === 403)
}

/** A failed status check: it says nothing about the payment. */
export function fromQueryError(reply: ErrorReply): Unknown {
  if (reply.http === 404 && reply.error?.code === 'resource_missing') {
    return unknown('not_found', describeError(reply))
  }
  const isSilent = isBusy(reply) || isKeyRefused(reply) || reply.http === 409
  if (isSilent) return unknown('no_answer', describeError(reply))
  return unknown(reply.error ? 'unrecognized' : 'unreadable', describeError(reply))
}

// Operators read this message: it gives both names of the setting.
const CREDENTIAL_MESSAGE = 'Stripe did not accept the secret key (secretKey, GATEWAY_STRIPE_SECRET_KEY)'

export function describeError(reply: ErrorReply): string {
  const { http, error, requestId } = reply
  const subject = isKeyRefused(reply) ? `${CREDENTIAL_MESSAGE}: HTTP ${http}` : `Stripe: HTTP ${http}`
  const facts = identifiers([error?.type, ...reasonsOf(error), error?.param, requestId])
  return [subject, ...facts].join(', ')
}

export function describeReasons(error: Pick<StripeError, 'code' | 'decline_code'> | undefined): string {
  return ['Stripe declined', ...identifiers(reasonsOf(error))].join(', ')
}

function reasonsOf(error: Pick<StripeError, 'code' | 'decline_code'> | undefined) {
  return [...new Set([error?.code, error?.decline_code])]
}

/** Only identifiers, never sentences. */
function identifiers(texts: readonly (string | null | undefined)[]): string[] {
  return texts.filter((text) => typeof text === 'string').filter((text) => /^[\w.[\]-]{1,100}$/.test(text))
}
