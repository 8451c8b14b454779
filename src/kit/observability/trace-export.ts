// Exports finished spans to a collector: OTLP over HTTP, in JSON. In batches, outside the requests; a slow or absent
// collector costs only spans.

import type { Clock } from '../clock.ts'
import type { HttpClient } from '../http/http-client.ts'
import type { Log } from './log.ts'
import type { Attributes, FinishedSpan, SpanKind } from './trace.ts'

export interface TraceExport {
  add(span: FinishedSpan): void
  /** The number of spans dropped since the start. */
  dropped(): number
  /** Sends the buffered spans. */
  stop(): Promise<void>
}

export interface TraceTarget {
  /** The address of the collector, without /v1/traces. */
  endpoint: string
  headers: Readonly<Record<string, string>>
  serviceName: string
}

interface Needs {
  http: HttpClient
  clock: Clock
  log: Log
}

const SEND_EVERY_MS = 5_000
// A silent collector must not delay the shutdown.
const FLUSH_TIMEOUT_MS = 2_000
const MAX_BATCH = 512
// A few seconds of a busy service, one or two megabytes.
const MAX_QUEUED = 4_096

export function createTraceExport({ http, clock, log }: Needs, target: TraceTarget): TraceExport {
  let queue: FinishedSpan[] = []
  let droppedCount = 0
  const stopping = new AbortController()

  const send = async (): Promise<void> => {
    const spans = queue.slice(0, MAX_BATCH)
    queue = queue.slice(MAX_BATCH)
    const result = await http.request({
      method: 'POST',
      url: `${target.endpoint}/v1/traces`,
      headers: { ...target.headers, 'content-type': 'application/json' },
      body: JSON.stringify(toOtlp(spans, target.serviceName)),
    })
    if (result.kind === 'answered' && result.status < 300) return
    droppedCount += spans.length
    const reason = result.kind === 'answered' ? `status ${result.status}` : result.code
    log.write('trace.export_failed', { count: spans.length, reason })
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(SEND_EVERY_MS, stopping.signal)
      while (queue.length > 0) await send()
    }
  }

  const running = run()
  return {
    add(span) {
      if (queue.length < MAX_QUEUED) queue.push(span)
      else droppedCount += 1
    },
    dropped: () => droppedCount,
    async stop() {
      stopping.abort()
      const isOver = new AbortController()
      await Promise.race([running, clock.sleep(FLUSH_TIMEOUT_MS, isOver.signal)])
      isOver.abort()
    },
  }
}

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3, producer: 4 }
const UNSET = 0
const FAILED = 2

/** The request body of OTLP: ids in hex, times as decimal text. */
export function toOtlp(spans: readonly FinishedSpan[], serviceName: string): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: toAttributes({ 'service.name': serviceName }) },
        scopeSpans: [{ scope: { name: 'cowry' }, spans: spans.map(toSpan) }],
      },
    ],
  }
}

function toSpan(span: FinishedSpan): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentId !== undefined && { parentSpanId: span.parentId }),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: String(span.startedAtNs),
    endTimeUnixNano: String(span.endedAtNs),
    attributes: toAttributes(span.attributes),
    status: { code: span.isFailed ? FAILED : UNSET },
  }
}

function toAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }))
}

function toValue(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
