// Calls to Daraja: each needs an access token of one hour. The gateway in front of M-Pesa answers errors as
// { requestId, errorCode, errorMessage }, also with HTTP 500, and its code says whether the request went further.

import { Type } from 'typebox'
import type { TokenGrant } from '../../gateway-tokens/token.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection } from '../definition.ts'
import { type Declined, Maybe, type Unknown } from '../reply.ts'
import { type Probed, readTokenReply, TOKEN_REJECTED } from '../token-calls.ts'

export const TOKEN_PATH = '/oauth/v1/generate'

/** An app of the developer portal. */
export interface App {
  /** Distinguishes the tokens of the apps of one account. */
  name: 'payments' | 'payouts'
  consumerKey: string
  consumerSecret: string
}

export interface DarajaApi {
  /** For prompts: wrong credentials refuse the attempt. */
  submit(path: string, body: object): Promise<HttpResult | Unknown | Declined>
  query(path: string, body: object): Promise<HttpResult | Unknown>
  /** A query without effect. */
  probe(path: string, body: object, read: (result: HttpResult) => Probed): Promise<Probed>
}

export function openApi({ baseUrl, http, tokens }: Connection, app: App): DarajaApi {
  const grant: TokenGrant = {
    name: app.name,
    account: app.consumerKey,
    secrets: [app.consumerSecret],
    async request() {
      const basic = Buffer.from(`${app.consumerKey}:${app.consumerSecret}`).toString('base64')
      const url = `${baseUrl}${TOKEN_PATH}?grant_type=client_credentials`
      const headers = { authorization: `Basic ${basic}` }
      return fromTokenReply(await http.request({ method: 'GET', url, headers }))
    },
  }
  const post = (path: string, body: object) => async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const url = `${baseUrl}${path}`
    const result = await http.request({ method: 'POST', url, headers, body: JSON.stringify(body) })
    return isTokenRejected(result) ? TOKEN_REJECTED : result
  }
  return {
    submit: (path, body) => tokens.submit(grant, post(path, body)),
    query: (path, body) => tokens.query(grant, post(path, body)),
    probe: (path, body, read) =>
      tokens.probe(grant, async (token) => {
        const result = await post(path, body)(token)
        return result === TOKEN_REJECTED ? result : read(result)
      }),
  }
}

/** Our own outcome instead of a response: there was no token. */
export function isOutcome<Result extends object>(
  result: Result,
): result is Extract<Result, { message: string }> {
  return 'message' in result
}

const readToken = jsonReader(
  Type.Object({
    access_token: Type.String({ minLength: 1, maxLength: 4_000 }),
    // Documented as text; a number would mean the same.
    expires_in: Type.Union([Type.String({ pattern: '^[1-9][0-9]{0,8}$' }), Type.Integer({ minimum: 1 })]),
  }),
)

function fromTokenReply(result: HttpResult) {
  // Credentials of the other environment get HTTP 400 without a body.
  const isOtherEnvironment =
    result.kind === 'answered' && result.status === 400 && result.body.toString().trim() === ''
  if (isOtherEnvironment)
    return { kind: 'refused', message: 'Daraja does not know the consumer key in this environment' } as const
  return readTokenReply(result, 'Daraja', (body) => {
    const read = readToken(body)
    return read && { token: read.access_token, expiresInMs: Number(read.expires_in) * 1_000 }
  })
}

const readErrorBody = jsonReader(
  Type.Object({
    errorCode: Type.String({ minLength: 1, maxLength: 50 }),
    errorMessage: Maybe(Type.String({ maxLength: 5_000 })),
  }),
)

/** How the gateway product in front of Daraja answers itself, such as for a product that the app does not have. */
const readFaultBody = jsonReader(
  Type.Object({ fault: Type.Object({ faultstring: Type.String({ maxLength: 5_000 }) }) }),
)

export interface DarajaError {
  http: number
  code: string
  text: string
}

/** Undefined if the response is not an error of Daraja. */
export function readError(result: HttpResult): DarajaError | undefined {
  if (result.kind !== 'answered' || result.status < 400) return undefined
  const http = result.status
  const body = readErrorBody(result.body)
  if (body) return { http, code: body.errorCode, text: body.errorMessage ?? '' }
  const fault = readFaultBody(result.body)?.fault
  return fault && { http, code: `${http}.fault`, text: fault.faultstring }
}

const TOKEN_CODES: readonly string[] = ['404.001.03', '401.003.01']

/** The gateway in front of M-Pesa checks the token, so nothing was begun. */
function isTokenRejected(result: HttpResult): boolean {
  const error = readError(result)
  if (!error || error.http >= 500) return false
  return TOKEN_CODES.includes(error.code) || /invalid access token/i.test(error.text)
}

// The limits of requests in a moment and in all.
const THROTTLED: readonly string[] = ['500.003.02', '500.003.03']

export const TOO_MANY_REQUESTS = 'Daraja received too many requests'

export function isThrottled(result: HttpResult): boolean {
  if (result.kind === 'answered' && result.status === 429) return true
  const error = readError(result)
  if (!error) return false
  const isFault = error.code === `${error.http}.fault`
  return THROTTLED.includes(error.code) || (isFault && /spike arrest|quota/i.test(error.text))
}

const REJECTION_STATUSES: readonly number[] = [400, 401, 403, 404]
// Reasons of 500.001.1001 that refuse the request. The same code also means that a payment is being processed.
const REFUSING_TEXT = /wrong credentials|merchant does not exist/i

/** Why the request was rejected before M-Pesa processed it; undefined if it may have been processed. */
export function rejectionOf(result: HttpResult): string | undefined {
  if (isThrottled(result)) return TOO_MANY_REQUESTS
  const error = readError(result)
  if (!error) return undefined
  const { http, code, text } = error
  const isRejected = REJECTION_STATUSES.includes(http) && code.startsWith(`${http}.`)
  const isRefused = code === '500.001.1001' && REFUSING_TEXT.test(text)
  return isRejected || isRefused ? `Daraja rejected it: ${describe(error)}` : undefined
}

/** M-Pesa did not begin the request, because another payment of this payer is open, perhaps one of another merchant. */
export function isPayerBusy(result: HttpResult): boolean {
  const error = readError(result)
  return error?.code === '500.001.1001' && /unable to lock subscriber/i.test(error.text)
}

const MAX_TEXT = 120

/** What Daraja says, without long runs of digits and letters, which may be numbers of payers or credentials. */
export function describe({ code, text }: Pick<DarajaError, 'code' | 'text'>): string {
  const said = text.replace(/[A-Za-z0-9+/=]{20,}|\d{6,}/g, '…').slice(0, MAX_TEXT)
  const name = code.slice(0, 30)
  return said === '' ? name : `${name}, ${said.toWellFormed()}`
}
