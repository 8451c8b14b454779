// One load on a service: in a closed loop each connection sends its next request after a response, which shows the most
// that the service does. In an open loop requests start at a constant rate, whether or not earlier ones were answered, and
// their time counts from the intended start: a stall then delays every request that should have started in it.

import { type Connection, openConnection } from './connection.ts'
import { nextRequest, type RequestSource, type SentOperation, type WireRequest } from './requests.ts'
import { percentile } from './statistics.ts'

export interface LoadOrder {
  url: string
  operation: SentOperation
  connections: number
  /** Ends after this time or this number of responses, whichever is first. */
  forMs: number
  requests?: number
  /** An open loop with so many starts per second; the connections are then the most that are used. */
  perSecond?: number
  source: Omit<RequestSource, 'host'>
  /** Also returns the acknowledged ids; the service will be killed under load. */
  collectsAcknowledged?: boolean
}

export interface LoadReport {
  answered: number
  /** Unexpected responses, connections that broke, and in an open loop requests without an answer at the end. */
  failed: number
  /** The first of them, for diagnosis. */
  firstFailure?: string
  tookMs: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
  acknowledged: string[]
}

interface Load extends LoadOrder {
  requestSource: RequestSource
  latencies: number[]
  acknowledged: string[]
  failed: number
  firstFailure?: string
  /** The number of requests sent. */
  sent: number
  endsAt: number
}

interface Caller {
  connection: Connection
  request?: WireRequest
  startedAt: number
}

// An open loop that the service cannot follow has a queue at its end.
const MAX_QUEUE_MS = 20_000

export async function runLoad(order: LoadOrder): Promise<LoadReport> {
  const startedAt = performance.now()
  const load: Load = {
    ...order,
    requestSource: { host: new URL(order.url).host, ...order.source },
    latencies: [],
    acknowledged: [],
    failed: 0,
    sent: 0,
    endsAt: startedAt + order.forMs,
  }
  await (order.perSecond === undefined ? runClosed(load) : runOpen(load, order.perSecond))
  const { latencies, failed, firstFailure, acknowledged } = load
  return {
    answered: latencies.length,
    failed,
    firstFailure,
    tookMs: performance.now() - startedAt,
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
    p99Ms: percentile(latencies, 0.99),
    acknowledged,
  }
}

async function runClosed(load: Load): Promise<void> {
  const next = (caller: Caller) => {
    const isEnough = load.requests !== undefined && load.sent >= load.requests
    if (isEnough || performance.now() >= load.endsAt) caller.connection.end()
    else send(load, caller, performance.now())
  }
  const callers = Array.from({ length: load.connections }, () => openCaller(load, next))
  for (const caller of callers) void caller.connection.opened.then(() => next(caller))
  await Promise.all(callers.map(({ connection }) => connection.closed))
}

/** Times in milliseconds since the start, of requests that start at a constant rate. */
export function dueStarts(perSecond: number, from: number, untilMs: number): number[] {
  const starts: number[] = []
  for (let index = from; (index * 1_000) / perSecond <= untilMs; index += 1)
    starts.push((index * 1_000) / perSecond)
  return starts
}

async function runOpen(load: Load, perSecond: number): Promise<void> {
  const idle: Caller[] = []
  /** The intended starts of requests that no connection has taken. */
  const waiting: number[] = []
  const next = (caller: Caller) => {
    const intended = waiting.shift()
    if (intended === undefined) idle.push(caller)
    else send(load, caller, intended)
  }
  const callers = Array.from({ length: load.connections }, () => openCaller(load, next))
  await Promise.all(callers.map(({ connection }) => connection.opened))
  idle.push(...callers)
  const firstAt = performance.now()
  for (let started = 0; ; ) {
    const passedMs = performance.now() - firstAt
    const due = dueStarts(perSecond, started, Math.min(passedMs, load.forMs))
    started += due.length
    for (const startMs of due) {
      waiting.push(firstAt + startMs)
      const caller = idle.pop()
      if (caller) next(caller)
    }
    if (passedMs >= load.forMs) break
    await sleep((started * 1_000) / perSecond - passedMs)
  }
  const giveUpAt = performance.now() + MAX_QUEUE_MS
  while (idle.length < callers.length && load.failed === 0 && performance.now() < giveUpAt) await sleep(10)
  const unanswered = callers.length - idle.length + waiting.length
  if (unanswered > 0) fail(load, `${unanswered} requests without an answer`, unanswered)
  for (const { connection } of callers) connection.end()
  await Promise.all(callers.map(({ connection }) => connection.closed))
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function openCaller(load: Load, next: (caller: Caller) => void): Caller {
  const connection = openConnection(load.url, {
    response(status, bytes) {
      record(load, caller, status, bytes)
      next(caller)
    },
    broke: (message) => fail(load, message),
  })
  const caller: Caller = { connection, startedAt: 0 }
  return caller
}

function send(load: Load, caller: Caller, startedAt: number): void {
  load.sent += 1
  caller.request = nextRequest(load.requestSource, load.operation)
  caller.startedAt = startedAt
  caller.connection.send(caller.request.bytes)
}

function record(load: Load, { request, startedAt }: Caller, status: number, bytes: Buffer): void {
  if (!request) throw new Error('a response came without a request')
  if (status !== request.expectedStatus) {
    fail(load, bytes.toString())
    return
  }
  load.latencies.push(performance.now() - startedAt)
  if (load.collectsAcknowledged && request.reference !== undefined) load.acknowledged.push(request.reference)
}

function fail(load: Load, message: string, count = 1): void {
  load.failed += count
  load.firstFailure ??= message
}
