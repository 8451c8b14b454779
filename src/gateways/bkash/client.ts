// The calls of bKash, and what its responses have in common. Every call is a POST with an access token. An error has a code
// in one of several fields, also with HTTP 200; only the code is passed on, because a message may repeat what we sent.

import { type TSchema, Type } from 'typebox'
import type { TokenGrant, TokenReply } from '../../gateway-tokens/token.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection } from '../definition.ts'
import {
  type Declined,
  fromUnexpectedBody,
  isJsonBody,
  Maybe,
  type Unknown,
  unknown,
  withoutResponse,
} from '../reply.ts'
import { type Probed, readProbeReply, readTokenReply, TOKEN_REJECTED } from '../token-calls.ts'

export const CHECKOUT = '/v1.2.0-beta/tokenized/checkout'
export const STATUS = `${CHECKOUT}/payment/status`
/** The refunds of version 2 are not below the path of version 1. */
export const REFUNDS = '/v2/tokenized-checkout/refund/payment'

export interface Client {
  /** For checkouts: without a token nothing is submitted, and another gateway is tried. */
  submit(path: string, fields: object): Promise<HttpResult | Unknown | Declined>
  /** For all other calls. */
  call(path: string, fields: object): Promise<HttpResult | Unknown>
  probe(): Promise<Probed>
}

// More than two requests within an hour block the account for an hour.
const RATION = { grants: 2, perMs: 3_600_000 }

export function createClient({ credentials, baseUrl, http, tokens }: Connection): Client {
  const { appKey, appSecret, username, password } = credentials
  if (!appKey || !appSecret || !username || !password)
    throw new Error('bKash cannot be opened without its app key, app secret, user name and password')

  const post = (path: string, headers: Record<string, string>, fields: object) =>
    http.request({
      method: 'POST',
      url: `${baseUrl}${path}`,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      body: JSON.stringify(fields),
    })
  const grant: TokenGrant = {
    name: 'checkout',
    account: appKey,
    secrets: [appSecret, username, password],
    ration: RATION,
    request: async () =>
      fromGrant(
        await post(
          `${CHECKOUT}/token/grant`,
          { username, password },
          { app_key: appKey, app_secret: appSecret },
        ),
      ),
  }
  // The token stands alone: bKash refuses it after the word Bearer.
  const withToken = (path: string, fields: object) => async (token: string) => {
    const result = await post(path, { authorization: token, 'x-app-key': appKey }, fields)
    return isTokenRejected(result) ? TOKEN_REJECTED : result
  }
  return {
    submit: (path, fields) => tokens.submit(grant, withToken(path, fields)),
    call: (path, fields) => tokens.query(grant, withToken(path, fields)),
    probe: () =>
      tokens.probe(grant, async (token) => {
        const result = await withToken(STATUS, { paymentID: NO_PAYMENT })(token)
        return result === TOKEN_REJECTED ? result : fromProbe(result)
      }),
  }
}

// It has the form of their ids, and no payment has it.
const NO_PAYMENT = 'TR0000000000000000000'

/** A conflict, or an error inside bKash: it may work the next time, and nothing says that the request is wrong. */
export const PASSING: readonly string[] = ['2003', '2020', '2024', '503', 'too_many_requests']

function fromProbe(result: HttpResult): 'works' | 'unreachable' {
  const code = result.kind === 'answered' ? codeOf(result.body) : undefined
  return code !== undefined && PASSING.includes(code) ? 'unreachable' : readProbeReply(result)
}

/** The front server checks the token before anything else. A page is not its word. */
function isTokenRejected(result: HttpResult): boolean {
  return result.kind === 'answered' && result.status === 401 && isJsonBody(result.body)
}

/** A reader of JSON whose numbers are text: bKash writes some of them in both forms. */
export function exactReader<Schema extends TSchema>(schema: Schema) {
  const read = schemaReader(schema)
  return (body: Buffer) => read(parseExactJson(body.toString()))
}

const readToken = exactReader(
  Type.Object({
    id_token: Type.String({ minLength: 1, maxLength: 8_000, pattern: '^[\\x21-\\x7e]+$' }),
    expires_in: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }),
  }),
)
const readStatus = exactReader(Type.Object({ status: Type.Literal('fail') }))

const INVALID_APP_KEY = '2001'

/** Wrong credentials may be refused with HTTP 200. */
function fromGrant(result: HttpResult): TokenReply {
  const isRefused =
    result.kind === 'answered' &&
    result.status === 200 &&
    (codeOf(result.body) === INVALID_APP_KEY || readStatus(result.body) !== undefined)
  if (isRefused) return { kind: 'refused', message: 'bKash refuses the credentials' }
  return readTokenReply(result, 'bKash', (body) => {
    const read = readToken(body)
    return read && { token: read.id_token, expiresInMs: Number(read.expires_in) * 1_000 }
  })
}

const Code = Maybe(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,80}$' }))

// Version 1 has a status or an error code. Refunds have an external code, which is the number, beside a name of the error.
const readCodes = exactReader(
  Type.Object({ statusCode: Code, errorCode: Code, externalCode: Code, internalCode: Code }),
)

const OK = '0000'

/** The code of an error; undefined if the response has none. */
function codeOf(body: Buffer): string | undefined {
  const codes = readCodes(body)
  const given = [codes?.errorCode, codes?.externalCode, codes?.internalCode, codes?.statusCode]
  return given.find((code) => code != null && code !== OK) ?? undefined
}

export interface ErrorReply {
  kind: 'error'
  http: number
  code: string
}

/** The content of a response, the error of bKash, or why the outcome is unknown. */
export function readReply<Body>(
  result: HttpResult | Unknown,
  read: (body: Buffer) => Body | undefined,
): { kind: 'body'; body: Body } | ErrorReply | Unknown {
  if ('reason' in result) return result
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http, body } = result
  if (http >= 500) return unknown('no_answer', `bKash answered HTTP ${http}`)
  const code = codeOf(body) ?? REJECTIONS[http]
  if (code !== undefined && (http === 429 || isJsonBody(body))) return { kind: 'error', http, code }
  const content = http === 200 ? read(body) : undefined
  if (content === undefined) return fromUnexpectedBody(body, `unreadable response, HTTP ${http}`)
  return { kind: 'body', body: content }
}

/** Responses of the front server, which has no codes. */
const REJECTIONS: Readonly<Record<number, string>> = {
  400: 'bad_request',
  403: 'forbidden',
  429: 'too_many_requests',
}

/** The message for an operator. */
export function describeError({ http, code }: ErrorReply): string {
  return `bKash refused the request (HTTP ${http}, ${code})`
}
