// The calls to Paymob. Intentions and refunds are authorized by the secret key, questions by an access token that the API
// key is exchanged for. The pay request has no other authorization than the payment key in its body.

import { Type } from 'typebox'
import type { TokenGrant } from '../../gateway-tokens/token.ts'
import { jsonReader, parseExactJson } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection } from '../definition.ts'
import { fromUnexpectedBody, isJsonBody, type Unknown, unknown, withoutResponse } from '../reply.ts'
import { type Probed, readProbeReply, readTokenReply, TOKEN_REJECTED } from '../token-calls.ts'
import type { Account } from './credentials.ts'

type Fields = Readonly<Record<string, unknown>>

export interface Client {
  /** With the secret key. */
  submit(path: string, fields: Fields): Promise<HttpResult>
  /** Without authorization. */
  pay(fields: Fields): Promise<HttpResult>
  retrieveIntention(clientSecret: string): Promise<HttpResult>
  /** With the access token. Fields are sent by POST. */
  ask<Result>(path: string, read: (result: HttpResult) => Result, fields?: Fields): Promise<Result | Unknown>
  probe(): Promise<Probed>
}

export const INQUIRY = '/api/ecommerce/orders/transaction_inquiry'

// Our keys are UUIDs, so no order has it.
const NO_ORDER = 'probe'

// Documented as 60 minutes; Paymob does not say it in its response.
const TOKEN_MS = 60 * 60_000

export function createClient({ baseUrl, http, tokens }: Connection, account: Account): Client {
  const send = (method: 'GET' | 'POST', path: string, authorization?: string, fields?: Fields) =>
    http.request({
      method,
      url: `${baseUrl}${path}`,
      headers: {
        accept: 'application/json',
        ...(authorization !== undefined && { authorization }),
        ...(fields && { 'content-type': 'application/json' }),
      },
      ...(fields && { body: JSON.stringify(fields) }),
    })
  const grant: TokenGrant = {
    name: 'inquiry',
    account: account.publicKey,
    secrets: [account.apiKey],
    request: async () =>
      readTokenReply(
        asOk(await send('POST', '/api/auth/tokens', undefined, { api_key: account.apiKey })),
        'Paymob',
        readToken,
      ),
  }
  const withToken =
    <Result>(path: string, read: (result: HttpResult) => Result, fields?: Fields) =>
    async (token: string) => {
      const result = await send(fields ? 'POST' : 'GET', path, `Bearer ${token}`, fields)
      return isTokenRejected(result) ? TOKEN_REJECTED : read(result)
    }
  return {
    submit: (path, fields) => send('POST', path, `Token ${account.secretKey}`, fields),
    pay: (fields) => send('POST', '/api/acceptance/payments/pay', undefined, fields),
    retrieveIntention: (clientSecret) =>
      send('GET', `/v1/intention/element/${account.publicKey}/${encodeURIComponent(clientSecret)}/`),
    ask: (path, read, fields) => tokens.query(grant, withToken(path, read, fields)),
    probe: () => tokens.probe(grant, withToken(INQUIRY, readProbeReply, { merchant_order_id: NO_ORDER })),
  }
}

/** Paymob answers a granted token with 201. */
function asOk(result: HttpResult): HttpResult {
  return result.kind === 'answered' && result.status === 201 ? { ...result, status: 200 } : result
}

const readTokenBody = jsonReader(Type.Object({ token: Type.String({ minLength: 1, maxLength: 8_000 }) }))

function readToken(body: Buffer): { token: string; expiresInMs: number } | undefined {
  const read = readTokenBody(body)
  return read && { token: read.token, expiresInMs: TOKEN_MS }
}

/** A page of a firewall is not Paymob's word. */
function isTokenRejected(result: HttpResult): boolean {
  return result.kind === 'answered' && result.status === 401 && isJsonBody(result.body)
}

export interface ErrorReply {
  kind: 'error'
  http: number
  /** The text of the response, only to look for words in it: it may repeat what we sent. */
  text: string
}

/** The content of a response with its numbers as text, Paymob's error, or why the outcome is unknown. */
export function readReply<Body>(
  result: HttpResult,
  read: (value: unknown) => Body | undefined,
): { kind: 'body'; body: Body } | ErrorReply | Unknown {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http } = result
  const message = `unreadable response, HTTP ${http}`
  if (http >= 500) return unknown('no_answer', `Paymob answered HTTP ${http}`)
  const text = result.body.toString()
  if (http >= 400)
    return http === 429 || isJsonBody(result.body)
      ? { kind: 'error', http, text }
      : fromUnexpectedBody(result.body, message)
  const body = http >= 200 && http < 300 ? read(parseExactJson(text)) : undefined
  return body === undefined ? fromUnexpectedBody(result.body, message) : { kind: 'body', body }
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'does not accept the keys of the account',
  403: 'does not accept the keys of the account',
  404: 'does not know what was asked for, such as the id of an integration of this account and mode',
  429: 'received too many requests',
}

/** The message for an operator. */
export function describeError({ http }: ErrorReply): string {
  return `Paymob ${REASONS[http] ?? 'refused the request'} (HTTP ${http})`
}
