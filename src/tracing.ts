// Starts tracing if a collector is configured: the tracer, the exporter, and wrappers that add spans to database and HTTP
// calls. When tracing is off, the originals are returned unwrapped.

import type { Config } from './config.ts'
import { METRICS } from './core/metric-definitions.ts'
import type { Clock } from './kit/clock.ts'
import type { Db } from './kit/db/db.ts'
import { createHttpClient, type HttpClient } from './kit/http/http-client.ts'
import type { PublicHttp } from './kit/http/public-http.ts'
import type { Log } from './kit/observability/log.ts'
import type { Metrics } from './kit/observability/metrics.ts'
import { createTracer, type Tracer } from './kit/observability/trace.ts'
import { createTraceExport } from './kit/observability/trace-export.ts'
import { tracedDb, tracedHttp, tracedPublicHttp } from './kit/observability/traced.ts'
import type { Random } from './kit/random.ts'

export interface Tracing {
  tracer: Tracer | undefined
  db(db: Db): Db
  http(http: HttpClient): HttpClient
  publicHttp(http: PublicHttp): PublicHttp
  stop(): Promise<void>
}

const OFF: Tracing = {
  tracer: undefined,
  db: (db) => db,
  http: (http) => http,
  publicHttp: (http) => http,
  stop: async () => undefined,
}

interface Needs {
  clock: Clock
  log: Log
  random: Random
  metrics: Metrics
}

export function startTracing({ traces }: Config, { clock, log, random, metrics }: Needs): Tracing {
  if (traces === null) return OFF
  const http = createHttpClient()
  const exporter = createTraceExport({ http, clock, log }, traces)
  metrics.observableCounter(METRICS.traceSpansDropped, () => [[[], exporter.dropped()]])
  const tracer = createTracer({ random, ratio: traces.ratio, onFinished: exporter.add })
  return {
    tracer,
    db: (db) => tracedDb(db, tracer),
    http: (client) => tracedHttp(client, tracer),
    publicHttp: (client) => tracedPublicHttp(client, tracer),
    async stop() {
      await exporter.stop()
      await http.close()
    },
  }
}
