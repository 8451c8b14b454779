// What all responses of pawaPay share: schemas that are checked before use, and errors. From errors we keep only
// pawaPay's code and the name of a parameter, because its messages quote the request, including phone numbers.

import { type Static, Type } from 'typebox'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { fromUnexpectedBody, isJsonBody, Maybe, type Unknown, unknown, withoutResponse } from '../reply.ts'

export const Text = (maxLength: number) => Type.String({ maxLength })
export const Identity = Type.String({ minLength: 1, maxLength: 100 })

export const FailureReason = Type.Object({
  failureCode: Text(100),
  failureMessage: Maybe(Text(5_000)),
})
export type FailureReason = Static<typeof FailureReason>

/** The response for an unknown id, with HTTP 200. */
export const NotFound = Type.Object({ status: Type.Literal('NOT_FOUND') })

const FailedBody = Type.Object({ failureReason: FailureReason })

type Read<Body> = (body: Buffer) => Body | undefined

const readFailedBody = jsonReader(FailedBody)

/** A request that pawaPay rejected with HTTP 400 to 499. */
export interface ErrorReply {
  kind: 'error'
  http: number
  message: string
}

export type Reply<Body> = { kind: 'body'; body: Body } | ErrorReply | Unknown

export function readReply<Body>(result: HttpResult, read: Read<Body>): Reply<Body> {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status, body } = result
  if (status >= 500) return unknown('no_answer', `pawaPay answered HTTP ${status}`)
  if (status >= 400) return fromErrorStatus(status, body)
  const value = status >= 200 && status < 300 ? read(body) : undefined
  return value === undefined
    ? fromUnexpectedBody(body, `pawaPay sent an unreadable response, HTTP ${status}`)
    : { kind: 'body', body: value }
}

// Statuses with which proxies and firewalls also answer, with pages of their own.
const ANSWERED_BY_OTHERS: readonly number[] = [400, 401, 403]

function fromErrorStatus(http: number, body: Buffer): ErrorReply | Unknown {
  const isOther = ANSWERED_BY_OTHERS.includes(http) && !isJsonBody(body)
  return isOther
    ? unknown('unreadable', `pawaPay sent an unreadable response, HTTP ${http}`)
    : errorReply(http, body)
}

function errorReply(http: number, body: Buffer): ErrorReply {
  const reason = readFailedBody(body)?.failureReason
  const said = reason ? `HTTP ${http}, ${describeFailure(reason)}` : `HTTP ${http}`
  const advice = adviceFor(http, reason?.failureCode)
  return { kind: 'error', http, message: `pawaPay answered ${said}${advice && `: ${advice}`}` }
}

/** What an operator can do about the error. */
function adviceFor(http: number, code: string | undefined): string {
  if (code === 'HTTP_SIGNATURE_ERROR')
    return 'the account takes only signed requests: set the key (signingKey, signingKeyId) that its dashboard knows'
  if (code === 'DEPOSITS_NOT_ALLOWED') return 'ask pawaPay to allow deposits for this account'
  // pawaPay's documentation names both statuses for a wrong token.
  if (http === 401 || http === 403)
    return 'the API token (apiToken) is wrong, or is that of the other environment'
  if (http === 404) return 'the base address is not that of its Merchant API'
  return http === 429 ? 'too many requests' : ''
}

const CODE = /^[A-Z][A-Z_]{0,79}$/
const PARAMETER = /parameter '([A-Za-z][A-Za-z.]{0,39})'/

export function describeFailure({ failureCode, failureMessage }: FailureReason): string {
  if (!CODE.test(failureCode)) return 'a failure that is not named'
  const parameter = PARAMETER.exec(failureMessage ?? '')?.[1]
  return parameter === undefined ? failureCode : `${failureCode} (${parameter})`
}
