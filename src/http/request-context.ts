// The context of one request from its first header to its last byte: the caller, the outcome, one log line, and the
// count of requests in flight, which a stopping server waits for.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { API_ERRORS, ApiError, type ApiErrorCode } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import { type Log, redactSecrets } from '../kit/observability/log.ts'
import type { Tracer } from '../kit/observability/trace.ts'
import type { RecordRequest } from '../request-log/request.ts'
import { LOGS_PATH } from './log-routes.ts'
import { type CompletedRequest, METRICS_PATH, type MeasuredRequest } from './metrics.ts'
import { REPORTS_PATH } from './security/headers.ts'

export interface RequestContext {
  readonly startedAtMs: number
  merchant?: Merchant
  keyId?: string
  /** The fingerprint of the operator token: it identifies the token without revealing it. */
  operatorId?: string
  errorCode?: ApiErrorCode
  /** Names and codes of the refused fields. */
  errorFields?: string
  /** The merchant's reference of the payment that the request is about. */
  reference?: string
  /** The pattern of the address whose methods do not include that of the request. */
  refusedAddress?: string
  /** The client closed the connection before the response was ready. */
  clientAborted?: boolean
  /** The response has no end of its own. */
  isStream?: boolean
  /** The number of parts still running: sending the response, and the handler, which may outlive the connection. */
  pending: number
}

declare module 'fastify' {
  interface FastifyRequest {
    requestContext: RequestContext
  }
}

export interface RequestTracker {
  begin(request: FastifyRequest, reply: FastifyReply): void
  /** Counts a request that is refused at once, without a log line. To be called before the response is sent. */
  refuse(request: FastifyRequest, reply: FastifyReply, http: number): void
  /** Runs the handler of a request. It continues when the client disconnects, and a stopping server waits for it. */
  run<Result>(request: FastifyRequest, reply: FastifyReply, run: () => Promise<Result>): Promise<Result>
  /** From now on every response closes its connection. */
  closeConnections(): void
  /** Resolves as soon as no request is in flight. */
  whenIdle(): Promise<void>
}

/** The status that nginx logs when the client disconnects first; it is never sent. */
const CLIENT_CLOSED_REQUEST = 499

interface Observers {
  measure?: (measured: MeasuredRequest) => void
  /** Called for every request with an API key. */
  recordRequest?: RecordRequest
  tracer?: Tracer
}

/** Tracks each request, and measures and traces it if `measure` and `tracer` are set. */
export function createRequestTracker(
  clock: Clock,
  log: Log,
  { measure, recordRequest, tracer }: Observers = {},
): RequestTracker {
  const inFlight = new Set<FastifyReply>()
  const idleWaiters: (() => void)[] = []
  let isClosing = false

  const end = (request: FastifyRequest, reply: FastifyReply): void => {
    request.requestContext.pending -= 1
    if (request.requestContext.pending > 0) return
    inFlight.delete(reply)
    const completed = summarize(request, reply, clock.now().getTime())
    measure?.(completed)
    logRequest(log, request, completed)
    if (recordRequest) recordFor(recordRequest, request, completed)
    if (inFlight.size === 0) for (const resolve of idleWaiters.splice(0)) resolve()
  }

  return {
    begin(request, reply) {
      request.requestContext = { startedAtMs: clock.now().getTime(), pending: 1 }
      inFlight.add(reply)
      if (isClosing) reply.raw.shouldKeepAlive = false
      // Not `finish`, which never fires after the client disconnects.
      reply.raw.once('close', () => {
        request.requestContext.clientAborted = !reply.raw.writableEnded
        end(request, reply)
      })
    },
    refuse(request, reply, http) {
      if (isClosing) reply.raw.shouldKeepAlive = false
      const { method, routeOptions } = request
      measure?.({ method, route: routeOptions.url ?? 'unknown', http, durationMs: null })
    },
    async run(request, reply, run) {
      request.requestContext.pending += 1
      try {
        return await (tracer ? trace(tracer, request, reply, run) : run())
      } finally {
        end(request, reply)
      }
    },
    closeConnections() {
      isClosing = true
      for (const reply of inFlight) {
        reply.raw.shouldKeepAlive = false
        if (reply.request.requestContext.isStream) reply.raw.destroy()
      }
    },
    whenIdle: () =>
      new Promise((resolve) => {
        if (inFlight.size === 0) resolve()
        else idleWaiters.push(resolve)
      }),
  }
}

const QUIET_ROUTES: ReadonlySet<string> = new Set([
  '/healthz',
  '/readyz',
  METRICS_PATH,
  REPORTS_PATH,
  LOGS_PATH,
])

function trace<Result>(
  tracer: Tracer,
  request: FastifyRequest,
  reply: FastifyReply,
  run: () => Promise<Result>,
): Promise<Result> {
  const route = routeOf(request)
  const { traceparent: parent } = request.headers
  const attributes = {
    'http.request.method': request.method,
    'http.route': route,
    'cowry.request_id': request.id,
  }
  const completed = (http: number) => ({
    attributes: { 'http.response.status_code': http },
    isFailed: http >= 500,
  })
  return tracer.span(
    {
      name: `${request.method} ${route}`,
      kind: 'server',
      attributes,
      parent: typeof parent === 'string' ? parent : undefined,
    },
    run,
    () => completed(reply.statusCode),
    (error) => completed(error instanceof ApiError ? API_ERRORS[error.code].http : 500),
  )
}

/** The route pattern, never the URL: a path or query may hold values that must not be logged. */
function routeOf({ routeOptions, requestContext }: FastifyRequest): string {
  return routeOptions.url ?? requestContext.refusedAddress ?? 'unknown'
}

function summarize(request: FastifyRequest, reply: FastifyReply, nowMs: number): CompletedRequest {
  const { clientAborted, startedAtMs } = request.requestContext
  return {
    method: request.method,
    route: routeOf(request),
    http: clientAborted ? CLIENT_CLOSED_REQUEST : reply.raw.statusCode,
    durationMs: nowMs - startedAtMs,
  }
}

function logRequest(
  log: Log,
  request: FastifyRequest,
  { method, route, http, durationMs }: CompletedRequest,
): void {
  const { merchant, keyId, operatorId, errorCode } = request.requestContext
  // Health checks and log readers call every second, and CSP reports have their own line, so these routes log at
  // debug level. A refused token (401) is always logged.
  const key = QUIET_ROUTES.has(route) && http !== 401 ? 'http.probe' : 'http.request'
  const identity = { address: request.ip, merchantId: merchant?.id, keyId, operatorId, errorCode }
  log.write(key, { requestId: request.id, method, route, http, durationMs, ...identity })
}

function recordFor(
  record: RecordRequest,
  request: FastifyRequest,
  { method, route, http, durationMs }: CompletedRequest,
): void {
  const { merchant, keyId, startedAtMs, errorCode, errorFields, reference } = request.requestContext
  if (!merchant || keyId === undefined) return
  record(merchant.id, http, () => ({
    ...{ merchantId: merchant.id, keyId, method, http, durationMs },
    // The caller chose these, so they may contain a secret or a card number.
    requestId: redactSecrets(request.id),
    errorFields: redactSecrets(errorFields ?? null),
    reference: redactSecrets(reference ?? null),
    route: route.replaceAll(/:(\w+)/g, '{$1}'),
    errorCode: errorCode ?? null,
    createdAt: new Date(startedAtMs),
  }))
}
