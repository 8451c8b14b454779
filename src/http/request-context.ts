// One request and its answer, from the first header to the last byte: who asked, how it completed, one log line for it,
// and the count of those still under way, which a stopping server waits for.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { API_ERRORS, ApiError, type ApiErrorCode } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { Tracer } from '../kit/trace.ts'
import { LOGS_PATH } from './log-routes.ts'
import { type CompletedRequest, METRICS_PATH } from './metrics.ts'
import { REPORTS_PATH } from './security/headers.ts'

export interface RequestContext {
  readonly startedAtMs: number
  merchant?: Merchant
  keyId?: string
  errorCode?: ApiErrorCode
  /** The caller closed before an answer was ready. */
  clientAborted?: boolean
  /** What must still end: the answer on the wire, and the work behind it when the caller has left already. */
  pending: number
}

declare module 'fastify' {
  interface FastifyRequest {
    requestContext: RequestContext
  }
}

export interface RequestTracker {
  begin(request: FastifyRequest, reply: FastifyReply): void
  /** Runs the work of a request: a caller that leaves does not end it, and a stopping server waits for it. */
  run<Result>(request: FastifyRequest, reply: FastifyReply, run: () => Promise<Result>): Promise<Result>
  /** Every answer from now on closes its connection. */
  closeConnections(): void
  /** Resolves as soon as nothing is under way. */
  whenIdle(): Promise<void>
}

/** What nginx logs for a caller that left before the answer; it never goes out. */
const CLIENT_CLOSED_REQUEST = 499

interface Observers {
  measure?: (completed: CompletedRequest) => void
  tracer?: Tracer
}

/** Every request is measured and traced, where somebody does that. */
export function createRequestTracker(
  clock: Clock,
  log: Log,
  { measure, tracer }: Observers = {},
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
    if (inFlight.size === 0) for (const resolve of idleWaiters.splice(0)) resolve()
  }

  return {
    begin(request, reply) {
      request.requestContext = { startedAtMs: clock.now().getTime(), pending: 1 }
      inFlight.add(reply)
      if (isClosing) reply.raw.shouldKeepAlive = false
      // Not finish: that never comes when the caller has left.
      reply.raw.once('close', () => {
        request.requestContext.clientAborted = !reply.raw.writableEnded
        end(request, reply)
      })
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
      for (const reply of inFlight) reply.raw.shouldKeepAlive = false
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
  const route = request.routeOptions.url ?? 'unknown'
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

function summarize(request: FastifyRequest, reply: FastifyReply, nowMs: number): CompletedRequest {
  const { clientAborted, startedAtMs } = request.requestContext
  return {
    method: request.method,
    // The pattern of the route, never the URL: a path or a query may hold what must not be logged.
    route: request.routeOptions.url ?? 'unknown',
    http: clientAborted ? CLIENT_CLOSED_REQUEST : reply.raw.statusCode,
    durationMs: nowMs - startedAtMs,
  }
}

function logRequest(
  log: Log,
  request: FastifyRequest,
  { method, route, http, durationMs }: CompletedRequest,
): void {
  const { merchant, keyId, errorCode } = request.requestContext
  // Probes and readers of the log come every second and say nothing; reports say it in a line of their own. Who tries a token
  // there is told of all the same.
  const key = QUIET_ROUTES.has(route) && http !== 401 ? 'http.probe' : 'http.request'
  const identity = { merchantId: merchant?.id, keyId, errorCode }
  log.write(key, { requestId: request.id, method, route, http, durationMs, ...identity })
}
