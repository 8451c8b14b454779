// One request and its answer, from the first header to the last byte: who asked, how it ended, one log line for it,
// and the count of those still under way, which a stopping server waits for.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { REFUSALS, Refusal, type RefusalCode } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { Tracer } from '../kit/trace.ts'
import { REPORTS_PATH } from './headers.ts'
import { LOGS_PATH } from './log-routes.ts'
import { type Ended, METRICS_PATH } from './metrics.ts'

export interface Exchange {
  readonly startedAtMs: number
  merchant?: Merchant
  keyId?: string
  refusal?: RefusalCode
  /** The caller closed before an answer was ready. */
  callerLeft?: boolean
  /** What must still end: the answer on the wire, and the work behind it when the caller has left already. */
  unfinished: number
}

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange
  }
}

export interface Exchanges {
  begin(request: FastifyRequest, reply: FastifyReply): void
  /** Runs the work of a request: a caller that leaves does not end it, and a stopping server waits for it. */
  work<Result>(request: FastifyRequest, reply: FastifyReply, run: () => Promise<Result>): Promise<Result>
  /** Every answer from now on closes its connection. */
  closeConnections(): void
  /** Resolves as soon as nothing is under way. */
  finished(): Promise<void>
}

/** What nginx logs for a caller that left before the answer; it never goes out. */
const CALLER_LEFT = 499

interface Watchers {
  measure?: (ended: Ended) => void
  tracer?: Tracer
}

/** Every request is measured and traced, where somebody does that. */
export function createExchanges(clock: Clock, log: Log, { measure, tracer }: Watchers = {}): Exchanges {
  const open = new Set<FastifyReply>()
  const waiting: (() => void)[] = []
  let isClosing = false

  const end = (request: FastifyRequest, reply: FastifyReply): void => {
    request.exchange.unfinished -= 1
    if (request.exchange.unfinished > 0) return
    open.delete(reply)
    const ended = describeEnd(request, reply, clock.now().getTime())
    measure?.(ended)
    writeLine(log, request, ended)
    if (open.size === 0) for (const resolve of waiting.splice(0)) resolve()
  }

  return {
    begin(request, reply) {
      request.exchange = { startedAtMs: clock.now().getTime(), unfinished: 1 }
      open.add(reply)
      if (isClosing) reply.raw.shouldKeepAlive = false
      // Not finish: that never comes when the caller has left.
      reply.raw.once('close', () => {
        request.exchange.callerLeft = !reply.raw.writableEnded
        end(request, reply)
      })
    },
    async work(request, reply, run) {
      request.exchange.unfinished += 1
      try {
        return await (tracer ? trace(tracer, request, reply, run) : run())
      } finally {
        end(request, reply)
      }
    },
    closeConnections() {
      isClosing = true
      for (const reply of open) reply.raw.shouldKeepAlive = false
    },
    finished: () =>
      new Promise((resolve) => {
        if (open.size === 0) resolve()
        else waiting.push(resolve)
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
  const ended = (http: number) => ({
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
    () => ended(reply.statusCode),
    (error) => ended(error instanceof Refusal ? REFUSALS[error.code].http : 500),
  )
}

function describeEnd(request: FastifyRequest, reply: FastifyReply, nowMs: number): Ended {
  const { callerLeft, startedAtMs } = request.exchange
  return {
    method: request.method,
    // The pattern of the route, never the URL: a path or a query may hold what must not be logged.
    route: request.routeOptions.url ?? 'unknown',
    http: callerLeft ? CALLER_LEFT : reply.raw.statusCode,
    durationMs: nowMs - startedAtMs,
  }
}

function writeLine(log: Log, request: FastifyRequest, { method, route, http, durationMs }: Ended): void {
  const { merchant, keyId, refusal } = request.exchange
  // Probes and readers of the log come every second and say nothing; reports say it in a line of their own. Who tries a token
  // there is told of all the same.
  const write = QUIET_ROUTES.has(route) && http !== 401 ? log.debug : log.info
  const who = { merchantId: merchant?.id, keyId, refusal }
  write('request', { requestId: request.id, method, route, http, durationMs, ...who })
}
