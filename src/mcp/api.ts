// How tools reach the service: by the merchants' API, with the key of the caller. Scopes, tenant isolation, rate limits,
// validation and the audit log are therefore those of any other request.

import { isRecord } from '../core/canonical.ts'

export interface ApiRequest {
  method: 'GET' | 'POST'
  /** Without the query. */
  path: string
  query?: Readonly<Record<string, string | number | undefined>>
  body?: Readonly<Record<string, unknown>>
  idempotencyKey?: string
}

export interface ApiReply {
  http: number
  /** The envelope: status, message, data, meta or error. */
  body: unknown
}

/** Sends a request of the merchants' API as the caller of the tool. */
export type CallApi = (request: ApiRequest) => Promise<ApiReply>

/** A tool cannot do what it was asked for; the agent gets the reason as the result of the call. */
export class ToolError extends Error {
  readonly code: string
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.name = 'ToolError'
    this.code = code
    this.facts = facts
  }
}

export interface Envelope<Data> {
  message: string
  data: Data
  meta: { total: number; totalIsCapped: boolean; nextCursor: string | null }
}

/** Returns the envelope of a success; throws the API error of any other response. */
export async function requireSuccess<Data>(call: CallApi, request: ApiRequest): Promise<Envelope<Data>> {
  const reply = await call(request)
  if (reply.http >= 400) throw apiErrorOf(reply)
  // A boundary: the routes of the merchants' API describe the records that the tools read.
  return reply.body as Envelope<Data>
}

/** Undefined if there is no such record for this merchant. */
export async function findRecord<Data>(call: CallApi, path: string): Promise<Data | undefined> {
  const reply = await call({ method: 'GET', path })
  if (reply.http === 404) return undefined
  if (reply.http >= 400) throw apiErrorOf(reply)
  // A boundary, as above.
  return (reply.body as Envelope<Data>).data
}

function apiErrorOf({ http, body }: ApiReply): ToolError {
  const envelope = isRecord(body) ? body : {}
  const error = isRecord(envelope.error) ? envelope.error : {}
  const { code, retryable, details } = error
  return new ToolError(String(code ?? 'internal_error'), String(envelope.message ?? `HTTP ${http}`), {
    http,
    retryable: retryable === true,
    ...(Array.isArray(details) && details.length > 0 && { details }),
  })
}

export function urlOf({ path, query = {} }: Pick<ApiRequest, 'path' | 'query'>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size > 0 ? `${path}?${search}` : path
}
