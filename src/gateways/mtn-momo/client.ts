// The calls to MTN MoMo. Each of its products has a subscription key and an access token of its own.

import { Type } from 'typebox'
import type { TokenGrant } from '../../gateway-tokens/token.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection } from '../definition.ts'
import { type Declined, isJsonBody, type Unknown } from '../reply.ts'
import { type Probed, readTokenReply, TOKEN_REJECTED } from '../token-calls.ts'
import { fromProbe } from './response.ts'

export interface ProductKeys {
  product: 'collection' | 'disbursement'
  targetEnvironment: string
  subscriptionKey: string
  apiUser: string
  apiKey: string
}

/** A request that begins something. Its id is the idempotency key: MTN accepts an id once. */
export interface Submission {
  id: string
  body: object
  callbackUrl?: string
}

/** Both products have it. */
export const BALANCE_PATH = '/v1_0/account/balance'

type Read<Result> = (result: HttpResult) => Result

export interface Product {
  /**
   * For checkouts and charges: without a token nothing is submitted, and another gateway is tried. A query if there is no
   * submission.
   */
  submit<Result>(
    path: string,
    read: Read<Result>,
    submission?: Submission,
  ): Promise<Result | Unknown | Declined>
  /** For refunds, which are made again later. */
  submitLater<Result>(path: string, read: Read<Result>, submission: Submission): Promise<Result | Unknown>
  get<Result>(path: string, read: Read<Result>): Promise<Result | Unknown>
  /** Whether it was removed is not known. */
  remove(path: string): Promise<void>
  probe(): Promise<Probed>
}

export function openProduct(
  { baseUrl, http, tokens }: Pick<Connection, 'baseUrl' | 'http' | 'tokens'>,
  keys: ProductKeys,
): Product {
  const { product, targetEnvironment, subscriptionKey, apiUser, apiKey } = keys
  const grant: TokenGrant = {
    name: product,
    account: apiUser,
    secrets: [apiKey, subscriptionKey],
    async request() {
      const basic = Buffer.from(`${apiUser}:${apiKey}`).toString('base64')
      const headers = { authorization: `Basic ${basic}`, 'ocp-apim-subscription-key': subscriptionKey }
      const result = await http.request({ method: 'POST', url: `${baseUrl}/${product}/token/`, headers })
      return readTokenReply(result, 'MTN MoMo', readToken)
    },
  }

  const call =
    <Result>(
      path: string,
      read: Read<Result>,
      submission?: Submission,
      method: 'GET' | 'POST' | 'DELETE' = submission ? 'POST' : 'GET',
    ) =>
    async (token: string): Promise<Result | typeof TOKEN_REJECTED> => {
      const result = await http.request({
        method,
        url: `${baseUrl}/${product}${path}`,
        headers: {
          authorization: `Bearer ${token}`,
          'x-target-environment': targetEnvironment,
          'ocp-apim-subscription-key': subscriptionKey,
          ...(submission && submissionHeaders(submission)),
        },
        ...(submission && { body: JSON.stringify(submission.body) }),
      })
      return isTokenRejected(result) ? TOKEN_REJECTED : read(result)
    }

  return {
    submit: (path, read, submission) => tokens.submit(grant, call(path, read, submission)),
    submitLater: (path, read, submission) => tokens.query(grant, call(path, read, submission)),
    get: (path, read) => tokens.query(grant, call(path, read)),
    remove: async (path) => {
      await tokens.query(
        grant,
        call(path, () => null, undefined, 'DELETE'),
      )
    },
    probe: () => tokens.probe(grant, call(BALANCE_PATH, fromProbe)),
  }
}

function submissionHeaders({ id, callbackUrl }: Submission): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-reference-id': id,
    ...(callbackUrl !== undefined && { 'x-callback-url': callbackUrl }),
  }
}

/** The front server checks token and subscription key before anything else. A page is not its word. */
function isTokenRejected(result: HttpResult): boolean {
  if (result.kind !== 'answered' || result.status !== 401) return false
  return result.body.length === 0 || isJsonBody(result.body)
}

const readTokenBody = schemaReader(
  Type.Object({
    access_token: Type.String({ minLength: 1, maxLength: 8_000 }),
    expires_in: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }),
  }),
)

function readToken(body: Buffer): { token: string; expiresInMs: number } | undefined {
  const read = readTokenBody(parseExactJson(body.toString()))
  return read && { token: read.access_token, expiresInMs: Number(read.expires_in) * 1_000 }
}
