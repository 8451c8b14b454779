// Traces as OpenTelemetry defines them: a span is a unit of work with a parent. The parent follows the async context,
// without being passed as an argument. Without a collector none of this runs.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Random } from '../random.ts'

export type SpanKind = 'internal' | 'server' | 'client' | 'producer'

export type Attributes = Readonly<Record<string, string | number | boolean>>

export interface FinishedSpan {
  traceId: string
  spanId: string
  parentId: string | undefined
  name: string
  kind: SpanKind
  startedAtNs: bigint
  endedAtNs: bigint
  attributes: Attributes
  isFailed: boolean
}

export interface SpanStart {
  name: string
  kind: SpanKind
  attributes?: Attributes
  /** The traceparent header of a caller. */
  parent?: string
}

/** What is known only at the end. */
export interface SpanEnd {
  attributes?: Attributes
  isFailed?: boolean
}

export interface Tracer {
  /** Runs the work as a child of the current span. */
  span<Result>(
    start: SpanStart,
    work: () => Promise<Result>,
    end?: (result: Result) => SpanEnd,
    failed?: (error: unknown) => SpanEnd,
  ): Promise<Result>
  /** The traceparent header for an outgoing call; undefined outside any span. */
  traceparent(): string | undefined
}

interface Context {
  traceId: string
  spanId: string
  isSampled: boolean
}

interface Needs {
  random: Random
  /**
   * The share of traces that are kept, from 0 to 1. We ignore the caller's sampling flag, which could be used to load
   * us.
   */
  ratio: number
  onFinished: (span: FinishedSpan) => void
}

const TRACE_BYTES = 16
const SPAN_BYTES = 8

export function createTracer({ random, ratio, onFinished: keep }: Needs): Tracer {
  const contexts = new AsyncLocalStorage<Context>()
  const newId = (bytes: number) => Buffer.from(random.bytes(bytes)).toString('hex')

  const begin = (parent: Context | undefined): Context => {
    const traceId = parent?.traceId ?? newId(TRACE_BYTES)
    const isSampled = contexts.getStore()?.isSampled ?? shouldSample(traceId, ratio)
    return { traceId, spanId: newId(SPAN_BYTES), isSampled }
  }

  return {
    async span(start, work, end, failed = describeError) {
      const parent = contexts.getStore() ?? readTraceparent(start.parent)
      const context = begin(parent)
      if (!context.isSampled) return contexts.run(context, work)
      const { traceId, spanId } = context
      const { name, kind, attributes } = start
      const startedAtNs = nowNs()
      const finish = ({ attributes: more, isFailed = false }: SpanEnd) => {
        const all = { ...attributes, ...more }
        const ids = { traceId, spanId, parentId: parent?.spanId }
        keep({ ...ids, name, kind, startedAtNs, endedAtNs: nowNs(), attributes: all, isFailed })
      }
      try {
        const result = await contexts.run(context, work)
        finish(end?.(result) ?? {})
        return result
      } catch (error) {
        finish(failed(error))
        throw error
      }
    },
    traceparent() {
      const context = contexts.getStore()
      return context && `00-${context.traceId}-${context.spanId}-${context.isSampled ? '01' : '00'}`
    },
  }
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

/** The parent of the header, if it is well formed. Ids of zeros are invalid. */
function readTraceparent(header: string | undefined): Context | undefined {
  const [, traceId = '', spanId = ''] = TRACEPARENT.exec(header ?? '') ?? []
  if (!/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: false }
}

/** Every process with the same ratio makes the same choice for a trace. */
function shouldSample(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-8), 16) / 2 ** 32 < ratio
}

function nowNs(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1_000)) * 1_000n
}

/** Never its message, which may hold a caller's text. */
function describeError(error: unknown): SpanEnd {
  return { attributes: { 'error.type': error instanceof Error ? error.name : typeof error }, isFailed: true }
}
