// The calls of SSLCommerz, and what its responses have in common. Requests are forms. The store's credentials are in the
// body of the request for a page, and in the query of all other calls: SSLCommerz takes them nowhere else. Errors have HTTP
// 200 and a word in APIConnect.

import { type TSchema, Type } from 'typebox'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection } from '../definition.ts'
import { fromUnexpectedBody, type Unknown, unknown, withoutResponse } from '../reply.ts'

export interface Client {
  /** Requests a page. */
  open(fields: Record<string, string>): Promise<HttpResult>
  /** Asks about transactions and refunds, and requests a refund: one address for all of them. */
  query(fields: Record<string, string>): Promise<HttpResult>
  validate(valId: string): Promise<HttpResult>
}

const SESSION = '/gwprocess/v4/api.php'
const TRANSACTIONS = '/validator/api/merchantTransIDvalidationAPI.php'
const VALIDATION = '/validator/api/validationserverAPI.php'

export function createClient({ credentials, baseUrl, http }: Connection): Client {
  const { storeId, storePassword } = credentials
  if (!storeId || !storePassword)
    throw new Error('SSLCommerz cannot be opened without its store id and password')
  const store = { store_id: storeId, store_passwd: storePassword }

  const get = (path: string, fields: Record<string, string>) =>
    http.request({
      method: 'GET',
      url: `${baseUrl}${path}?${new URLSearchParams({ ...fields, ...store, v: '1', format: 'json' })}`,
      headers: { accept: 'application/json' },
    })
  return {
    open: (fields) =>
      http.request({
        method: 'POST',
        url: `${baseUrl}${SESSION}`,
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ ...store, ...fields }).toString(),
      }),
    query: (fields) => get(TRANSACTIONS, fields),
    validate: (valId) => get(VALIDATION, { val_id: valId }),
  }
}

/** A reader of JSON whose numbers are text: SSLCommerz writes amounts and counts in both forms. */
export function exactReader<Schema extends TSchema>(schema: Schema) {
  const read = schemaReader(schema)
  return (body: Buffer) => read(parseExactJson(body.toString()))
}

const readConnect = exactReader(Type.Object({ APIConnect: Type.String({ pattern: '^[A-Z_]{1,40}$' }) }))

export const CONNECTED = 'DONE'

export interface Rejection {
  kind: 'rejected'
  /** FAILED: wrong credentials. INACTIVE: the store is closed. INVALID_REQUEST: also an address that is not registered. */
  word: string
}

/** The content of a response of the validator, its rejection, or why the outcome is unknown. */
export function readReply<Body>(
  result: HttpResult,
  read: (body: Buffer) => Body | undefined,
): { kind: 'body'; body: Body } | Rejection | Unknown {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http, body } = result
  const message = `SSLCommerz answered HTTP ${http}`
  if (http >= 500 || http === 429) return unknown('no_answer', message)
  const word = http === 200 ? readConnect(body)?.APIConnect : undefined
  if (word !== undefined && word !== CONNECTED) return { kind: 'rejected', word }
  const content = word === CONNECTED ? read(body) : undefined
  return content === undefined ? fromUnexpectedBody(body, message) : { kind: 'body', body: content }
}

export function describeRejection({ word }: Rejection): string {
  return `SSLCommerz did not accept the request (${word}): check the store and the registered address of this server`
}
