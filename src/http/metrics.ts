// Serves metrics to Prometheus at /metrics with a token, or on a separate listener for an internal network. Also
// counts and times every request.

import { createServer } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { METRICS } from '../core/metric-definitions.ts'
import { DURATION_BUCKETS, METRICS_CONTENT_TYPE, type Metrics } from '../kit/observability/metrics.ts'

export const METRICS_PATH = '/metrics'

export type ReadMetrics = () => Promise<string>

export function registerMetrics(
  app: FastifyInstance,
  authorize: (request: FastifyRequest) => void,
  read: ReadMetrics,
): void {
  app.get(METRICS_PATH, {
    onRequest: async (request) => authorize(request),
    handler: async (_request, reply) => reply.type(METRICS_CONTENT_TYPE).send(await read()),
  })
}

export interface MetricsListener {
  port: number
  close(): Promise<void>
}

/** This listener needs no token: every client that can reach the address may read. */
export async function openMetricsListener(
  address: { host: string; port: number },
  read: ReadMetrics,
): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== METRICS_PATH) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`Metrics are at ${METRICS_PATH}.\n`)
      return
    }
    read().then(
      (text) => response.writeHead(200, { 'content-type': METRICS_CONTENT_TYPE }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, resolve)
  })
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound ? bound.port : address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A completed request as it is measured: by route pattern, never by URL. */
export interface CompletedRequest {
  method: string
  route: string
  http: number
  durationMs: number
}

/** Without a duration if it was refused at once: many of these would make the others look fast. */
export type MeasuredRequest = Omit<CompletedRequest, 'durationMs'> & { durationMs: number | null }

/** Requests that match no operation share one series, so that clients cannot create unbounded label values. */
function isKnownRoute(http: number, route: string): boolean {
  return http !== 405 && route !== 'unknown'
}

export function createRequestMetrics(metrics: Metrics): (measured: MeasuredRequest) => void {
  const requests = metrics.counter(METRICS.httpRequests)
  const durations = metrics.histogram(METRICS.httpRequestDuration, DURATION_BUCKETS)
  return ({ method, route, http, durationMs }) => {
    const [methodLabel, routeLabel] = isKnownRoute(http, route) ? [method, route] : ['other', 'unknown']
    requests.add([methodLabel, routeLabel, `${Math.floor(http / 100)}xx`])
    if (durationMs !== null) durations.observe([methodLabel, routeLabel], durationMs / 1_000)
  }
}
