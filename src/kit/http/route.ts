// Routes as data. A slice declares its routes; the HTTP shell serves them, checks key, scope and schema, wraps the
// response in the envelope and writes the OpenAPI document from the same objects. Nothing here depends on the web
// framework.

import type { Static, TSchema } from 'typebox'
import type { ApiError, ApiErrorCode, Issue } from '../../core/errors.ts'
import type { Merchant, PersonScope, Principal, Scope } from '../../core/merchant.ts'
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

/**
 * Resource and verb in camel case, such as payments.initiate. Generated clients name their methods after it, so it never
 * changes.
 */
export type OperationId = `${string}.${string}`

type Input<Schema> = Schema extends TSchema ? Static<Schema> : undefined

/** Facts about the body that the parsed value has lost. */
export interface BodyFacts {
  /** Dotted paths of numbers whose digits a JavaScript number cannot hold, such as 10.0000000000000001. */
  lossyNumbers: ReadonlySet<string>
  /** Dotted paths of numbers that are written with an exponent, such as 1e2. */
  exponentNumbers?: ReadonlySet<string>
}

/**
 * What a person saw in the form that they sent: the operation fails with invalid_state if it is another by now. Only the
 * dashboard sends it, inside the process.
 */
export type Expected = Readonly<Record<string, unknown>>

export interface RouteInput<Params, Query, Body> {
  merchant: Merchant
  principal: Principal
  params: Input<Params>
  query: Input<Query>
  body: Input<Body>
  idempotencyKey: string | undefined
  requestId: string
  expected?: Expected | undefined
}

const REPLAYED_HEADER = { 'Idempotent-Replayed': 'true' }

export interface RouteResponse {
  http: 200 | 201
  message: string
  data: unknown
  meta?: PageMeta
  headers?: Record<string, string>
  /** A file instead of the envelope, streamed in parts. */
  file?: { name: string; pieces: AsyncIterable<string> }
}

export interface RouteDefinition<Params, Query, Body> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path parameters in braces, as OpenAPI writes them: /api/v1/customers/{uuid} */
  path: string
  tag: Tag
  scope: Scope
  /** A second scope that is needed too, where the records of two areas are returned. */
  alsoScope?: Scope
  /** A scope that only people have, and that suffices for a person instead of the others. */
  personScope?: string
  operationId: OperationId
  summary: string
  description?: string
  params?: Params
  query?: Query
  body?: Body
  /**
   * The schema of `data` in the envelope (of one element if `list` is set). With `file` there is no envelope: the
   * response is a text of that media type. Old records of a list with `isArchived` may be in files of the operator.
   */
  response: { http: 200 | 201; data: TSchema; list?: boolean; file?: string; isArchived?: boolean }
  /** The error codes special to this operation; the shell adds those of every operation. */
  errors: ApiErrorCode[]
  /** The document has the data of one operation for each record: others give none. */
  examples?: { body?: unknown; data?: unknown }
  /** Rules that a schema cannot express. It also gets bodies that fail the schema, so it must accept any shape. */
  issues?: (body: Record<string, unknown>, facts: BodyFacts) => Issue[]
  /** False for a payment, whose moves are its history, and for an operation that changes nothing. Others are audited. */
  audited?: false
  handle: (input: RouteInput<Params, Query, Body>) => Promise<RouteResponse>
}

/** Any merchant route, without its input types: the shell has checked the input against the schemas. */
export type Route = RouteDefinition<TSchema | undefined, TSchema | undefined, TSchema | undefined>

export function route<
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
>(definition: RouteDefinition<Params, Query, Body>): Route {
  // A boundary: the shell calls handle only with input that passed these very schemas.
  return definition as unknown as Route
}

/**
 * An operation for people alone: the dashboard calls it inside the process. It is not served by HTTP and is in no document,
 * and no key has its scope. The path names it in the audit log.
 */
export interface PersonRoute extends Pick<Route, 'params' | 'query' | 'body' | 'audited' | 'handle'> {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  path: string
  scope: PersonScope
  operationId: OperationId
}

interface PersonDefinition<Params, Query, Body>
  extends Omit<PersonRoute, 'params' | 'query' | 'body' | 'handle'> {
  params?: Params
  query?: Query
  body?: Body
  handle: (input: RouteInput<Params, Query, Body>) => Promise<RouteResponse>
}

export function personRoute<
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
>(definition: PersonDefinition<Params, Query, Body>): PersonRoute {
  // A boundary: the operations call handle only with input that passed these very schemas.
  return definition as unknown as PersonRoute
}

/** Replayed: the response of an earlier request with the same key or reference, which a header marks. */
export const ok = (message: string, data: unknown, replayed = false): RouteResponse => ({
  http: 200,
  message,
  data,
  headers: replayed ? REPLAYED_HEADER : undefined,
})

export const created = (message: string, data: unknown, replayed = false): RouteResponse => ({
  ...ok(message, data, replayed),
  http: 201,
})

export const listed = (message: string, data: unknown[], meta: PageMeta): RouteResponse => ({
  http: 200,
  message,
  data,
  meta,
})

/** A file to download, under this name; the route declares its type. */
export const fileOf = (
  name: string,
  pieces: AsyncIterable<string>,
  headers?: RouteResponse['headers'],
): RouteResponse => ({
  http: 200,
  message: '',
  data: null,
  headers,
  file: { name, pieces },
})

/** An operator with an account. */
export interface OperatorPerson {
  userId: string
  name: string
}

/** An operator's endpoint under /admin/v1: the admin token instead of a key, no tag, not in the merchants' document. */
export interface OperatorRoute {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  operationId: OperationId
  summary: string
  description?: string
  params?: TSchema
  query?: TSchema
  body?: TSchema
  response: { http: 200 | 201; data: TSchema; list?: boolean; file?: string }
  errors: ApiErrorCode[]
  examples?: RouteDefinition<undefined, undefined, undefined>['examples']
  /** The maximum number of bytes of the body, if more than the usual 64 KB. */
  bodyLimit?: number
  /** False for a payment, whose moves are its history, and for an operation that changes nothing. Others are audited. */
  audited?: false
  handle: (input: {
    params: Record<string, string>
    query: Record<string, unknown>
    body: Record<string, unknown>
    requestId: string
    /** Who is signed in at /ops; null for the operator token. */
    operator: OperatorPerson | null
    expected?: Expected | undefined
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
    operator: OperatorPerson | null
    expected?: Expected | undefined
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

/** A cookie of the payer's pages: HttpOnly and SameSite. */
export interface PageCookie {
  name: string
  /** Any text; it is percent-encoded in transit. */
  value: string
  /** As in the address, percent-encoded where that is. */
  path: string
  /** Absent: a session cookie; 0 deletes the cookie. */
  maxAgeSeconds?: number
}

/** The response of a page: HTML, or a 303 redirect. */
export interface PageResponse {
  http: number
  html?: string
  redirectTo?: string
  /** Another body than HTML, such as a script, a JSON status for it or an image. */
  content?: { type: string; body: string | Buffer }
  /** A file to download, streamed in parts. */
  file?: { name: string; type: string; pieces: AsyncIterable<string> }
  /** Sent in parts as long as the client reads, such as server-sent events. A stopping server cuts it. */
  stream?: { type: string; pieces: AsyncIterable<string> }
  headers?: Record<string, string>
  cookies?: readonly PageCookie[]
  /**
   * `immutable`: cacheable without limit, for assets with a digest in their address. `revalidate`: cacheable, and checked by
   * its ETag at each use, for a body that is the same for all readers. Otherwise nothing may be cached.
   */
  cache?: 'immutable' | 'revalidate'
  /** Origins beside our own that a form on this page may lead to: browsers apply form-action to redirects too. */
  formActions?: string[]
  /** The page may make and use passkeys, which browsers otherwise refuse. */
  allowsPasskeys?: true
}

/** A file of a form. */
export interface PageFile {
  /** As the browser names it. */
  name: string
  bytes: Buffer
}

/** A page for people: no key, HTML forms in (application/x-www-form-urlencoded), HTML or a redirect out. */
export interface PageRoute {
  method: 'GET' | 'POST'
  path: string
  /** The query and the body are not read, so that nothing in them can be refused: both are empty. */
  ignoresInput?: true
  /** The form has files (multipart/form-data). Its body is read only if `reject` returns no response. */
  upload?: {
    limitBytes: number
    reject(cookies: Record<string, string>): Promise<PageResponse | undefined>
  }
  handle: (input: {
    params: Record<string, string>
    query: Record<string, string>
    form: Record<string, string>
    /** The files of a form with `upload`, by the names of their fields. */
    files: Record<string, PageFile>
    headers: Record<string, string>
    cookies: Record<string, string>
    requestId: string
    /** The path as received, without the query. */
    path: string
    /** The client's address. */
    address: string
    /** The client's address, in IPv6 its /64, for rate limits. */
    visitor: string
    /** The nonce of an inline style element: the content security policy allows only this one. */
    styleNonce: string
  }) => Promise<PageResponse>
}

/**
 * The error page for people. The status is decided already. Parts of the query and the cookies that could not be parsed
 * are left out, because they may be the cause of the error.
 */
export type ErrorPage = (input: {
  apiError: ApiError
  http: number
  /** The path as received: percent-encoded, perhaps invalid, of any length. */
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  cookies: Record<string, string>
  requestId: string
  styleNonce: string
}) => PageResponse | Promise<PageResponse>

/** A webhook from a gateway, outside the merchants' API: raw bytes in, by POST or PUT; a status out, rarely with JSON. */
export interface GatewayWebhookRoute {
  path: string
  handle: (input: {
    method: 'POST' | 'PUT'
    params: Record<string, string>
    query: Record<string, string>
    headers: Record<string, string>
    rawBody: Buffer
  }) => Promise<{ http: number; json?: Readonly<Record<string, unknown>> }>
}

/** A person of a merchant who is signed in, at one request. */
export interface SignedIn {
  merchant: Merchant
  userId: string
  role: string
  sessionId: string
  /** What the role may do. */
  scopes: readonly string[]
  address: string
  requestId: string
}

export interface OperationCall {
  params?: Readonly<Record<string, string>>
  /** Undefined and empty values are left out. */
  query?: Readonly<Record<string, string | undefined>>
  body?: Readonly<Record<string, unknown>>
  idempotencyKey?: string
  expected?: Expected
}

/** The operations of the operators' API, for a person. */
export interface OperatorOperations {
  /** Calls the operation, or throws an ApiError. */
  call(
    operator: Omit<SignedIn, 'merchant' | 'scopes'> & { name: string },
    operationId: OperationId,
    input?: OperationCall,
  ): Promise<RouteResponse>
  /** False for an operation that this environment does not have. */
  has(operationId: OperationId): boolean
}

/** The operations of the merchants' API and those of people alone, for a person. */
export interface Operations {
  /** Calls the operation, or throws an ApiError. */
  call(person: SignedIn, operationId: OperationId, input?: OperationCall): Promise<RouteResponse>
  /** Whether the scopes of the person allow the operation. False for an operation that this environment does not have. */
  allows(person: Pick<SignedIn, 'scopes'>, operationId: OperationId): boolean
}
