// Endpoints as data. A slice declares its routes here; the HTTP shell serves them, checks key, scope and schema,
// wraps the answer in the envelope and writes the OpenAPI document from the same objects. No web framework in here.

import type { Static, TSchema } from 'typebox'
import type { ApiError, ApiErrorCode, Issue } from '../../core/errors.ts'
import type { Merchant, Scope } from '../../core/merchant.ts'
import type { PageMeta } from '../../core/page.ts'

export type Tag =
  | 'Checkout'
  | 'P2P'
  | 'Payment Links'
  | 'Customer'
  | 'Customers'
  | 'Misc'
  | 'Charges'
  | 'Webhooks'
  | 'API keys'

type Input<Schema> = Schema extends TSchema ? Static<Schema> : undefined

/** What the body said that a parsed value cannot say any more. */
export interface BodyFacts {
  /** Dotted paths of numbers whose written digits a JavaScript number cannot hold, such as 10.0000000000000001. */
  lossyNumbers: ReadonlySet<string>
}

export interface RouteInput<Params, Query, Body> {
  merchant: Merchant
  /** The key that asks, by its public id. */
  keyId: string
  params: Input<Params>
  query: Input<Query>
  body: Input<Body>
  idempotencyKey: string | undefined
  requestId: string
}

export interface RouteResponse {
  http: 200 | 201
  message: string
  data: unknown
  meta?: PageMeta
  headers?: Record<string, string>
  /** A file instead of the envelope, in pieces as they are made. */
  file?: { name: string; pieces: AsyncIterable<string> }
}

export interface RouteDefinition<Params, Query, Body> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path parameters in braces, as OpenAPI writes them: /api/v1/customers/{uuid} */
  path: string
  tag: Tag
  scope: Scope
  summary: string
  description?: string
  params?: Params
  query?: Query
  body?: Body
  /**
   * The schema of `data` in the envelope (one element of it when `list` is set). With `file` there is no envelope: the
   * answer is a text of that media type.
   */
  response: { http: 200 | 201; data: TSchema; list?: boolean; file?: string }
  /** The refusals special to this operation; those of every operation are added by the shell. */
  errors: ApiErrorCode[]
  examples?: { body?: unknown; data: unknown }
  /** Rules that a schema cannot say. Gets the body before or beside schema complaints, so it must bear any shape. */
  issues?: (body: Record<string, unknown>, facts: BodyFacts) => Issue[]
  handle: (input: RouteInput<Params, Query, Body>) => Promise<RouteResponse>
}

/** Any merchant route, its input types forgotten: the shell has checked them against the schemas by then. */
export type Route = RouteDefinition<TSchema | undefined, TSchema | undefined, TSchema | undefined>

export function route<
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
>(definition: RouteDefinition<Params, Query, Body>): Route {
  // A boundary: the shell calls handle only with input that passed these very schemas.
  return definition as unknown as Route
}

export const ok = (message: string, data: unknown, headers?: Record<string, string>): RouteResponse => ({
  http: 200,
  message,
  data,
  headers,
})

export const created = (message: string, data: unknown, headers?: Record<string, string>): RouteResponse => ({
  http: 201,
  message,
  data,
  headers,
})

export const listed = (message: string, data: unknown[], meta: PageMeta): RouteResponse => ({
  http: 200,
  message,
  data,
  meta,
})

/** A file to be kept, under this name; the route says of what type it is. */
export const fileOf = (name: string, pieces: AsyncIterable<string>): RouteResponse => ({
  http: 200,
  message: '',
  data: null,
  file: { name, pieces },
})

/** An operator's endpoint under /admin/v1: the admin token instead of a key, no tag, not in the merchants' document. */
export interface OperatorRoute {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  summary: string
  params?: TSchema
  query?: TSchema
  body?: TSchema
  response: { http: 200 | 201; data: TSchema; list?: boolean }
  errors: ApiErrorCode[]
  /** The most bytes of the body, where it is more than the 64 KB of every other. */
  bodyLimit?: number
  handle: (input: {
    params: Record<string, string>
    query: Record<string, unknown>
    body: Record<string, unknown>
    requestId: string
  }) => Promise<RouteResponse>
}

interface OperatorDefinition<Params, Query, Body>
  extends Omit<OperatorRoute, 'params' | 'query' | 'body' | 'handle'> {
  params?: Params
  query?: Query
  body?: Body
  handle: (input: {
    params: Input<Params>
    query: Input<Query>
    body: Input<Body>
  }) => ReturnType<OperatorRoute['handle']>
}

export function operatorRoute<
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
>(definition: OperatorDefinition<Params, Query, Body>): OperatorRoute {
  // A boundary: the shell calls handle only with input that passed these very schemas.
  return definition as unknown as OperatorRoute
}

/** A cookie that a page leaves with the payer: no script reads it, and no other site sends it along. */
export interface PageCookie {
  name: string
  /** Any text; it is percent-encoded on its way. */
  value: string
  /** As it stands in the address, percent-encoded where that is. */
  path: string
  /** Without it the cookie goes with the browser's session; 0 deletes it. */
  maxAgeSeconds?: number
}

/** What a page answers: HTML, or a 303 to somewhere else. */
export interface PageResponse {
  http: number
  html?: string
  redirectTo?: string
  /** Another body than HTML, such as a script, a JSON status for it or an image. */
  content?: { type: string; body: string | Buffer }
  headers?: Record<string, string>
  cookies?: readonly PageCookie[]
  /** Anybody may keep it for ever: for what has a digest of itself in its address. Otherwise nobody keeps anything. */
  cache?: 'immutable'
  /** Origins beside our own that a form on this page may lead to, or `https:` for all of them: browsers hold redirects after a form against it. */
  formActions?: string[]
}

/** A page for people: no key, HTML forms in (application/x-www-form-urlencoded), HTML or a redirect out. */
export interface PageRoute {
  method: 'GET' | 'POST'
  path: string
  handle: (input: {
    params: Record<string, string>
    query: Record<string, string>
    form: Record<string, string>
    headers: Record<string, string>
    cookies: Record<string, string>
    requestId: string
    /** For the nonce attribute of an inline style element: the content security policy allows this one only. */
    styleNonce: string
  }) => Promise<PageResponse>
}

/**
 * The page that tells a person what went wrong. The status is decided already. What of the query and the cookies could
 * not be read is left out, because that may be the very thing that went wrong.
 */
export type ErrorPage = (input: {
  apiError: ApiError
  http: number
  /** Of the address, as it came: percent-encoded, perhaps wrongly, and as long as the sender liked. */
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  cookies: Record<string, string>
  requestId: string
  styleNonce: string
}) => PageResponse

/** A machine's doorbell outside the merchants' API: raw bytes in, a bare status out. */
export interface GatewayWebhookRoute {
  path: string
  handle: (input: {
    params: Record<string, string>
    headers: Record<string, string>
    rawBody: Buffer
  }) => Promise<{ http: number }>
}
