// The HTTP shell: everything between the socket and the service functions. Only this folder imports the web
// framework.

import type { IncomingMessage } from 'node:http'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { ApiError } from '../core/errors.ts'
import { LONGEST_REQUEST_ID } from '../core/text/formats.ts'
import type { Clock } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import { apiErrorFor, badRequest, errorResponse } from './errors.ts'
import { registerHealth } from './health.ts'
import { registerJsonRoutes } from './json-routes.ts'
import {
  type Addresses,
  collectAddresses,
  createAddressFinder,
  refuseBesideParameters,
  refuseMethod,
} from './known-methods.ts'
import { createPathFinder, hasTrailingSlash, isPreflight, routeNotFound } from './known-paths.ts'
import { logRoutes } from './log-routes.ts'
import { registerMcp } from './mcp.ts'
import { registerMetrics } from './metrics.ts'
import { createNodeServer, respondToClientError } from './node-server.ts'
import { openApiDocument } from './openapi/document.ts'
import { OPERATOR_DOCUMENT_PATH, operatorDocument } from './openapi/operator-document.ts'
import { registerReference } from './openapi/reference.ts'
import type { HttpShell, HttpShellOptions } from './options.ts'
import { createCompress } from './pages/compression.ts'
import { type ErrorPageNeeds, pageAddressMatcher, sendErrorPage } from './pages/error-pages.ts'
import { registerPageRoutes } from './pages/page-routes.ts'
import { registerGatewayWebhookRoutes, registerMounts } from './raw-routes.ts'
import { createRequestTracker, type RequestTracker } from './request-context.ts'
import { type Authorization, createAuthorization } from './security/authorization.ts'
import { createDocumentationLimit } from './security/documentation-limit.ts'
import { securityHeaders } from './security/headers.ts'
import { createLoadShedding } from './security/load-shedding.ts'
import { registerPolicyReports } from './security/policy-reports.ts'
import type { Refuse } from './security/refusal.ts'

/** Requests in flight get this long to end. An orchestrator usually kills after 30 s. */
const DRAIN_MS = 25_000
const CLOSE_GRACE_MS = 500

export function createHttpShell(options: HttpShellOptions): HttpShell {
  const headers = securityHeaders(options.environment)
  const requestTracker = createRequestTracker(options.clock, options.log, options)
  let stopping = false
  const { environment, random, log, errorPage } = options
  const parts = { requestTracker, headers, environment, random, log, errorPage, compress: createCompress() }
  const shedding = createLoadShedding(options, parts)
  const { app, addresses } = createFramework(options, parts, shedding.refuse)
  const { routes, eventData } = options
  const operatorRoutes = [...options.operatorRoutes, ...logRoutes(options)]
  const openApi = cachedDocument(options, (publicUrl) => openApiDocument(routes, { publicUrl, eventData }))
  const operatorOpenApi = cachedDocument(options, (publicUrl) =>
    operatorDocument(operatorRoutes, { publicUrl }),
  )
  const authorization = createAuthorization(options)
  const needs = { ...parts, addresses, authorization, openApi, operatorOpenApi, isStopping: () => stopping }
  registerRoutes(app, { ...options, operatorRoutes }, needs)
  return {
    async listen(host, port) {
      await app.listen({ host, port })
      const address = app.server.address()
      return { port: typeof address === 'object' && address ? address.port : port }
    },
    async stop() {
      stopping = true
      requestTracker.closeConnections()
      const closed = app.close()
      const drainFinished = new AbortController()
      const drained = drain(options.clock, requestTracker, closed).then(() => drainFinished.abort())
      await Promise.race([drained, options.clock.sleep(DRAIN_MS, drainFinished.signal)])
      app.server.closeAllConnections()
      await closed
      authorization.stop()
      shedding.stop()
    },
    async inject({ remoteAddress, ...request }) {
      const { statusCode, headers: responseHeaders, body } = await app.inject({ ...request, remoteAddress })
      return { http: statusCode, headers: responseHeaders, body }
    },
    openApi,
  }
}

/** Resolves when all requests have ended and clients have had a grace period to disconnect. */
async function drain(clock: Clock, requestTracker: RequestTracker, closed: Promise<void>): Promise<void> {
  await requestTracker.whenIdle()
  // A request that is arriving on an open connection still gets its response.
  const connectionsClosed = new AbortController()
  void closed.then(() => connectionsClosed.abort())
  await clock.sleep(CLOSE_GRACE_MS, connectionsClosed.signal)
  await requestTracker.whenIdle()
}

const REQUEST_ID = new RegExp(`^[A-Za-z0-9._-]{8,${LONGEST_REQUEST_ID}}$`)

/** The parts that every kind of route uses. */
interface Parts extends ErrorPageNeeds {
  requestTracker: RequestTracker
}

function createFramework(
  options: HttpShellOptions,
  parts: Parts,
  shedLoad: Refuse,
): { app: FastifyInstance; addresses: Addresses } {
  const sendError = createErrorSender(options, parts)
  const app = fastify({
    logger: false,
    serverFactory: createNodeServer,
    clientErrorHandler: (error, socket) => void respondToClientError(options, parts, error, socket),
    genReqId: (request: IncomingMessage) => requestIdOf(request) ?? options.random.uuid(),
    // Trust one hop: our proxy appends the address that it saw, and a client can forge everything before it.
    trustProxy: options.trustProxy && ((_address: string, hop: number) => hop === 0),
    // A stopping server still serves requests on open connections, and closes each with its response.
    return503OnClosing: false,
    // The same for connections that look idle: see createNodeServer.
    forceCloseConnections: false,
    exposeHeadRoutes: true,
    routerOptions: {
      // input/query.ts reads the query by the route's schema and reports its issues.
      querystringParser: () => ({}),
      // A reference of 100 characters in a path, percent-encoded.
      maxParamLength: 2_048,
    },
    frameworkErrors: (error, request, reply) => {
      if (refuseFlood(request, reply)) return
      beginRequest(request, reply)
      void sendError(error, request, reply)
    },
  })
  const paths = [...options.routes, ...options.operatorRoutes].map(({ path }) => path)
  const findPath = createPathFinder([...paths, OPERATOR_DOCUMENT_PATH])
  const addresses = collectAddresses(app)
  const findAddress = createAddressFinder(addresses)
  const refuseFlood = createDocumentationLimit(options, parts)
  const beginRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    parts.requestTracker.begin(request, reply)
    reply.headers(parts.headers.api).header('x-request-id', request.id)
  }
  app.decorateRequest('requestContext')
  app.addHook('onRequest', (request, reply, done) => {
    if (shedLoad(request, reply) || refuseFlood(request, reply)) return
    beginRequest(request, reply)
    const notFound = () => {
      const address = findAddress(request.raw.url)
      if (address) return refuseMethod(request, reply, address)
      return routeNotFound(findPath, request.raw.url, options.publicUrl())
    }
    done(requestError(request, notFound))
  })
  app.setErrorHandler(sendError)
  return { app, addresses }
}

type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Sends an error page for page addresses, and the error envelope for all others. */
function createErrorSender(options: HttpShellOptions, parts: Parts): SendError {
  const isPageAddress = pageAddressMatcher(options.pageRoutes)
  return async (error, request, reply) => {
    const apiError = toApiError(options, error, request)
    if (apiError.code === 'payload_too_large') drainBodyBeforeClose(reply)
    if (isPageAddress(request.routeOptions.url ?? request.raw.url))
      return sendErrorPage(parts, apiError, request, reply)
    const accept = request.headers.accept
    const response = errorResponse(apiError, {
      requestId: request.id,
      accept,
      publicUrl: options.publicUrl(),
    })
    return reply.code(response.http).headers(response.headers).type(response.contentType).send(response.body)
  }
}

/**
 * If we closed right after a body that is too large, the client would still be sending and would lose our response.
 * So the rest of the body is read and discarded, within the request timeout.
 */
function drainBodyBeforeClose(reply: FastifyReply): void {
  reply.removeHeader('connection')
  reply.raw.shouldKeepAlive = true
}

function requestIdOf(request: IncomingMessage): string | undefined {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined
}

/** Refuses a request by its first line and headers, before the body is read. */
function requestError(request: FastifyRequest, notFound: () => ApiError): ApiError | undefined {
  const { method, url, headers } = request.raw
  if (isPreflight(method ?? '', url, headers.origin)) return new ApiError('browser_not_allowed')
  // The router reads an empty parameter from a trailing slash: /customers/ is not the customer without a uuid.
  return request.is404 || hasTrailingSlash(url) ? notFound() : headerError(request)
}

/** Node takes the first of two, and a proxy before us may have checked the other. */
const SINGLE_HEADERS: ReadonlySet<string> = new Set(['host', 'content-type', 'authorization'])

function headerError(request: FastifyRequest): ApiError | undefined {
  const { httpVersion, headers, rawHeaders } = request.raw
  if (headers.host === undefined && httpVersion !== '1.0')
    return badRequest('Host', 'HTTP/1.1 requests name their Host.')
  const repeated = repeatedHeader(rawHeaders)
  return repeated === undefined
    ? undefined
    : badRequest(repeated, `The header ${repeated} is sent more than once; send it once.`)
}

/** Takes alternating names and values. */
function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.includes(name)) return name
    seen.push(name)
  }
  return undefined
}

/** The ApiError to respond with. Internal errors are logged here once, with their stack. */
function toApiError(options: HttpShellOptions, error: unknown, request: FastifyRequest): ApiError {
  const apiError =
    apiErrorFor(error, request.routeOptions.bodyLimit) ?? new ApiError('internal_error', { cause: error })
  request.requestContext.errorCode = apiError.code
  if (apiError.details.length > 0) request.requestContext.errorFields = refusedFields(apiError)
  if (apiError.cause !== undefined) {
    const { method, id: requestId } = request
    const where = { requestId, method, route: request.routeOptions.url }
    if (apiError.code === 'internal_error')
      options.log.write('http.request_failed', { ...where, ...errorFields(error) })
    if (apiError.code === 'temporarily_unavailable')
      options.log.write('http.request_unavailable', { ...where, ...errorFields(error) })
  }
  return apiError
}

const FIELDS_SHOWN = 5
const FIELD_LENGTH = 60

function refusedFields({ details }: ApiError): string {
  return details
    .slice(0, FIELDS_SHOWN)
    .map(({ field, code }) => `${field.slice(0, FIELD_LENGTH)}: ${code}`)
    .join(', ')
}

interface Needs extends Parts {
  addresses: Addresses
  authorization: Authorization
  openApi(): object
  operatorOpenApi(): object
  isStopping(): boolean
}

function registerRoutes(app: FastifyInstance, options: HttpShellOptions, needs: Needs): void {
  registerHealth(app, options.ready, needs.isStopping)
  registerReference(app, needs)
  registerMounts(app, options.mounts, options.log)
  const { routes, operatorRoutes, failpoints } = options
  if (options.readMetrics) registerMetrics(app, needs.authorization.authorizeScraper, options.readMetrics)
  registerJsonRoutes(app, { ...needs, clock: options.clock, failpoints }, routes, operatorRoutes)
  if (options.mcp) registerMcp(app, { ...needs, publicUrl: options.publicUrl }, options.mcp)
  registerPageRoutes(app, needs, options.pageRoutes)
  registerPolicyReports(app, options.clock, options.log)
  registerGatewayWebhookRoutes(app, needs, options.gatewayWebhookRoutes)
  // Last, because all other paths must be registered before.
  app.register(async (scope) => refuseBesideParameters(scope, needs.addresses))
}

/** Caches a document; it changes only when the public URL becomes known. */
function cachedDocument(
  options: Pick<HttpShellOptions, 'publicUrl'>,
  write: (publicUrl: string) => object,
): () => object {
  let cached: { publicUrl: string; document: object } | undefined
  return () => {
    const publicUrl = options.publicUrl()
    if (cached?.publicUrl !== publicUrl) cached = { publicUrl, document: write(publicUrl) }
    return cached.document
  }
}
