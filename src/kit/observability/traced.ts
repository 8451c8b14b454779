// Wraps the database and the HTTP clients with a span around each use. When tracing is off, the originals are used
// unwrapped.

import type { Db, Statement, Tx } from '../db/db.ts'
import type { HttpClient } from '../http/http-client.ts'
import type { PublicHttp } from '../http/public-http.ts'
import type { SpanEnd, SpanKind, Tracer } from './trace.ts'

export function tracedDb(db: Db, tracer: Tracer): Db {
  return {
    ...db,
    ...tracedTx(db, tracer),
    transaction: (work, options) =>
      tracer.span({ name: 'transaction', kind: 'client', attributes: POSTGRES }, () =>
        db.transaction((tx) => work(tracedTx(tx, tracer)), options),
      ),
  }
}

function tracedTx(tx: Tx, tracer: Tracer): Tx {
  return {
    ...tx,
    script: (text) => tx.script(text),
    query: (statement, values) =>
      tracer.span(describeStatement(statement), () => tx.query(statement, values)),
  }
}

const POSTGRES = { 'db.system.name': 'postgresql' }

/** A statement is our own text; its values are not part of it. */
function describeStatement({ name, text }: Statement<unknown>) {
  const verb = /^\w+/.exec(text)?.[0] ?? 'statement'
  const attributes = {
    ...POSTGRES,
    'db.operation.name': verb,
    'db.query.summary': summaryOf(text),
    'cowry.statement': name,
  }
  return { name: `${verb} ${tableOf(text)}`.trim(), kind: 'client' as SpanKind, attributes }
}

const SUMMARY_CHARACTERS = 200

const summaryOf = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, SUMMARY_CHARACTERS)
const tableOf = (text: string) => /\b(?:from|into|update)\s+([a-z_.]+)/.exec(text)?.[1] ?? ''

/** The call passes its trace on. */
export function tracedHttp(http: HttpClient, tracer: Tracer): HttpClient {
  return {
    close: () => http.close(),
    request: (request) =>
      tracer.span(
        describeCall(request.method, request.url, 'client'),
        () => http.request({ ...request, headers: { ...request.headers, ...parentHeader(tracer) } }),
        (result) =>
          result.kind === 'answered' ? responseSpanEnd(result.status, 500) : errorSpanEnd(result.code),
      ),
  }
}

export function tracedPublicHttp(http: PublicHttp, tracer: Tracer): PublicHttp {
  return {
    ...http,
    post: (url, request) =>
      tracer.span(
        describeCall('POST', url, 'producer'),
        () => http.post(url, { ...request, headers: { ...request.headers, ...parentHeader(tracer) } }),
        (result) =>
          result.kind === 'answered' ? responseSpanEnd(result.status, 300) : errorSpanEnd(result.failure),
      ),
  }
}

const responseSpanEnd = (status: number, failsFrom: number): SpanEnd => ({
  attributes: { 'http.response.status_code': status },
  isFailed: status >= failsFrom,
})

const errorSpanEnd = (code: string): SpanEnd => ({ attributes: { 'error.type': code }, isFailed: true })

/** The host alone: a path may hold a token. */
function describeCall(method: string, url: string, kind: SpanKind) {
  const host = URL.parse(url)?.host ?? 'unknown'
  return {
    name: `${method} ${host}`,
    kind,
    attributes: { 'http.request.method': method, 'server.address': host },
  }
}

function parentHeader(tracer: Tracer): Record<string, string> {
  const traceparent = tracer.traceparent()
  return traceparent === undefined ? {} : { traceparent }
}
