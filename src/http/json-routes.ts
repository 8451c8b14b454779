// The merchant and operator endpoints: each request is authorized, parsed, validated and handled, and gets the JSON
// envelope.

import { Readable } from 'node:stream'
import type { AnySchema } from 'fast-json-stringify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorFromIssues } from '../core/errors.ts'
import type { Merchant, PersonScope, Principal } from '../core/merchant.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../core/page.ts'
import type { Clock } from '../kit/clock.ts'
import { type AuditContext, runAudited } from '../kit/db/audit-context.ts'
import { iterateAsMerchant, runAsMerchant } from '../kit/db/tenant-isolation.ts'
import type { Failpoints } from '../kit/failpoints.ts'
import type {
  OperationCall,
  OperatorPerson,
  OperatorRoute,
  PersonRoute,
  Route,
  RouteResponse,
} from '../kit/http/route.ts'
import { redactSecrets } from '../kit/observability/log.ts'
import {
  isBodyRequired,
  JSON_BODY_LIMIT,
  type JsonBody,
  readJsonBody,
  requireJsonHeaders,
} from './input/body.ts'
import { isSchema } from './input/json-schema.ts'
import { queryTextOf } from './input/query.ts'
import { type CheckedInput, type CompileInput, createInputCompiler } from './input/validation.ts'
import type { RequestTracker } from './request-context.ts'
import { createSerializer, envelopeSchema } from './response-schema.ts'
import { type Authorization, headerText } from './security/authorization.ts'

interface Needs {
  authorization: Authorization
  requestTracker: RequestTracker
  clock: Clock
  failpoints?: Failpoints
}

/** A merchant or operator route, with the calls that differ between the two. */
interface RouteBinding {
  route: Route | OperatorRoute
  authorize: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
  handle: (request: FastifyRequest, input: CheckedInput) => Promise<RouteResponse>
}

export function registerJsonRoutes(
  app: FastifyInstance,
  needs: Needs,
  routes: readonly Route[],
  operatorRoutes: readonly OperatorRoute[],
): void {
  const compileInput = createInputCompiler()
  app.register(async (scope) => {
    // The handler parses the body: an error in a framework parser would close the connection.
    scope.removeAllContentTypeParsers()
    scope.setSerializerCompiler<AnySchema>(({ schema }) => createSerializer(schema))
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: JSON_BODY_LIMIT },
      (_request, body, done) => {
        done(null, body)
      },
    )
    for (const route of routes)
      register(scope, needs, compileInput, bindMerchantRoute(needs.authorization, route))
    for (const route of operatorRoutes)
      register(scope, needs, compileInput, bindOperatorRoute(needs.authorization, route))
  })
}

function bindMerchantRoute(authorization: Authorization, route: Route): RouteBinding {
  return {
    route,
    authorize: (request, reply) =>
      authorization.authorizeMerchant(
        request,
        reply,
        scopesOf(route),
        costOf(route, queryTextOf(request.raw.url)),
      ),
    handle: async (request, input) => {
      const idempotencyKey = idempotencyKeyOf(request)
      return runMerchantRoute(route, {
        ...{ ...requireCaller(request), ...input },
        idempotencyKey,
        requestId: request.id,
      })
    },
  }
}

type MerchantInput = Parameters<Route['handle']>[0]

/** Runs the operation with its merchant as the tenant; the input is checked already. */
export async function runMerchantRoute(
  route: Pick<Route, 'handle'>,
  input: Omit<MerchantInput, keyof CheckedInput> & CheckedInput,
): Promise<RouteResponse> {
  const { id } = input.merchant
  const response = await runAsMerchant(id, () => route.handle(input))
  return response.file ? streamFileAsMerchant(id, response, response.file) : response
}

const FILE_COST = (2 * MAX_LIMIT) / DEFAULT_LIMIT

/**
 * A list takes one token of the rate limit for every 20 rows of its page, the default limit: a page of 100 costs the
 * process five times as much. A file takes as many as two of these pages: it may have thousands of rows, but
 * files are written one after another.
 */
export function costOf(route: Route | PersonRoute, queryText: string): number {
  if ('response' in route && route.response.file !== undefined) return FILE_COST
  if (!('response' in route && route.response.list)) return 1
  const [, limit = '1'] = /(?:^|&)limit=(\d{1,3})(?:&|$)/.exec(queryText) ?? []
  return Math.max(1, Math.ceil(Math.min(Number(limit), MAX_LIMIT) / DEFAULT_LIMIT))
}

function streamFileAsMerchant(
  merchantId: string,
  response: RouteResponse,
  { name, pieces }: NonNullable<RouteResponse['file']>,
): RouteResponse {
  return { ...response, file: { name, pieces: iterateAsMerchant(merchantId, pieces) } }
}

function bindOperatorRoute(authorization: Authorization, route: OperatorRoute): RouteBinding {
  return {
    route,
    authorize: async (request) => authorization.authorizeOperator(request),
    handle: (request, input) => runOperatorRoute(route, input, request.id, null),
  }
}

/** Runs the operation; the input is checked already. */
export function runOperatorRoute(
  route: OperatorRoute,
  { params, query, body, expected }: CheckedInput & Pick<OperationCall, 'expected'>,
  requestId: string,
  operator: OperatorPerson | null,
): Promise<RouteResponse> {
  // A boundary: path parameters are strings unless the route's schema converts them.
  const given = params as Record<string, string>
  return route.handle({ params: given, query, body: body ?? {}, requestId, operator, expected })
}

function register(
  app: FastifyInstance,
  needs: Needs,
  compileInput: CompileInput,
  binding: RouteBinding,
): void {
  const { route, authorize, handle } = binding
  const check = compileInput(route)
  const takesBody = route.method !== 'GET'
  const mayBeEmpty = !isBodyRequired(route)
  app.route({
    method: route.method,
    url: frameworkPath(route.path),
    bodyLimit: bodyLimitOf(route),
    ...(mediaTypeOf(route) === undefined && {
      schema: { response: { [route.response.http]: responseSchemaOf(route) } },
    }),
    onRequest: async (request, reply) => {
      await authorize(request, reply)
      if (takesBody) requireJsonHeaders(request.headers)
    },
    handler: (request, reply) =>
      needs.requestTracker.run(request, reply, async () => {
        const body: JsonBody | undefined = takesBody ? readJsonBody(request.body, mayBeEmpty) : undefined
        request.requestContext.reference = referenceOf(request.params, body)
        const input = check(request.params, queryTextOf(request.raw.url), body)
        const response = await audit(needs.clock, route, request, () => handle(request, input))
        // The change is committed here, and the client does not know it yet.
        if (route.method !== 'GET') await needs.failpoints?.hit('api.before_send')
        return sendResponse(reply, response, mediaTypeOf(route))
      }),
  })
}

export const scopesOf = <One extends PersonScope>({ scope, alsoScope }: { scope: One; alsoScope?: One }) =>
  alsoScope === undefined ? [scope] : [scope, alsoScope]

/** Runs a write with its actor, so that its changes are recorded in the audit log. */
function audit<Result>(
  clock: Clock,
  route: Route | OperatorRoute,
  request: FastifyRequest,
  work: () => Promise<Result>,
): Promise<Result> {
  const { keyId, operatorId } = request.requestContext
  const actorId = keyId ?? operatorId
  if (actorId === undefined) return work()
  const actorType = keyId === undefined ? 'operator' : 'api_key'
  // The caller chose it, so it may be a secret or a card number.
  const requestId = redactSecrets(request.id)
  const actor = { actorType, actorId, address: request.ip, requestId } as const
  return auditOperation(clock, route, actor, request.params, work)
}

export function auditOperation<Result>(
  clock: Clock,
  { method, path, audited }: Pick<Route | OperatorRoute | PersonRoute, 'method' | 'path' | 'audited'>,
  actor: Omit<AuditContext, 'operation' | 'target' | 'at'>,
  params: unknown,
  work: () => Promise<Result>,
): Promise<Result> {
  if (method === 'GET' || audited === false) return work()
  const operation = `${method} ${path}`
  return runAudited({ ...actor, operation, target: targetOf(params), at: clock.now() }, work)
}

/** The last id in the path: it is of the object itself, the ones before are of its parents. */
function targetOf(params: unknown): string | null {
  const ids = Object.values(params ?? {}).filter((value) => typeof value === 'string')
  return ids.findLast((id) => /^[\w-]{1,64}$/.test(id)) ?? null
}

const MAX_REFERENCE_LENGTH = 100

/** The merchant's reference of a payment, in the path or the body. Not checked yet: a refused request has one too. */
function referenceOf(params: unknown, body: JsonBody | undefined): string | undefined {
  const values = [params, body?.value].map((source) => Object(source).reference as unknown)
  return values.find(
    (value): value is string =>
      typeof value === 'string' && value.length > 0 && value.length <= MAX_REFERENCE_LENGTH,
  )
}

function bodyLimitOf(route: Route | OperatorRoute): number {
  return ('bodyLimit' in route ? route.bodyLimit : undefined) ?? JSON_BODY_LIMIT
}

function responseSchemaOf(route: Route | OperatorRoute): object {
  if (!isSchema(route.response.data)) throw new Error(`${route.method} ${route.path} has no response schema`)
  return envelopeSchema(route.response.data, route.response.list === true)
}

function mediaTypeOf({ response }: Route | OperatorRoute): string | undefined {
  return 'file' in response ? response.file : undefined
}

function sendResponse(
  reply: FastifyReply,
  response: RouteResponse,
  mediaType: string | undefined,
): FastifyReply {
  if (response.headers) reply.headers(response.headers)
  if (response.file && mediaType !== undefined)
    return sendFile(reply, response.file, `${mediaType}; charset=utf-8`)
  const { message, data, meta } = response
  return reply.code(response.http).send({ status: 'success', message, data, meta })
}

/** Streams the file. If the source fails, the connection is cut, so that a partial file does not look complete. */
export function sendFile(
  reply: FastifyReply,
  { name, pieces }: NonNullable<RouteResponse['file']>,
  type: string,
): FastifyReply {
  const isHead = reply.request.method === 'HEAD'
  const content = Readable.from(pieces)
  // Only the headers are sent: without this the framework would write the whole file and drop it.
  if (isHead) content.destroy()
  return reply
    .type(type)
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(isHead ? Readable.from([]) : content)
}

function requireCaller(request: FastifyRequest): { merchant: Merchant; principal: Principal } {
  const { merchant, keyId } = request.requestContext
  if (!merchant || keyId === undefined)
    throw new Error('a merchant route ran without an authenticated merchant')
  return { merchant, principal: { type: 'api_key', id: keyId } }
}

/** OpenAPI writes path parameters in braces, the router with a colon. */
export function frameworkPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = headerText(request, 'idempotency-key')
  if (key === undefined || request.method === 'GET' || request.method === 'HEAD') return undefined
  if (IDEMPOTENCY_KEY.test(key)) return key
  const message = 'Idempotency-Key must be 1 to 255 ASCII characters without control characters.'
  const details = [{ field: 'Idempotency-Key', code: 'invalid_format', message }]
  throw errorFromIssues(details)
}
