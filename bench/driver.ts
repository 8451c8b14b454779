// The load driver, a separate process: a number of connections with one request at a time on each. It writes HTTP to
// bare sockets, because its own processor time is taken from the service that it measures.

import { connect, type Socket } from 'node:net'
import { nextRequest, type Operation, type RequestSource, type WireRequest } from './requests.ts'
import { percentile } from './statistics.ts'

export interface LoadOrder {
  url: string
  operation: Operation
  connections: number
  /** Ends after this time or this number of responses, whichever is first. */
  forMs: number
  requests?: number
  paid: RequestSource['paid']
  /** Also returns the acknowledged ids; the service will be killed under load. */
  collectsAcknowledged?: boolean
}

export interface LoadReport {
  answered: number
  /** Unexpected responses, and connections that broke. */
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
  source: RequestSource
  latencies: number[]
  acknowledged: string[]
  failed: number
  firstFailure?: string
  /** The number of requests sent. */
  sent: number
  endsAt: number
}

process.on('message', (order: LoadOrder) => {
  void drive(order).then((report) => process.send?.(report))
})

async function drive(order: LoadOrder): Promise<LoadReport> {
  const startedAt = performance.now()
  const load: Load = {
    ...order,
    source: { host: new URL(order.url).host, paid: order.paid },
    latencies: [],
    acknowledged: [],
    failed: 0,
    sent: 0,
    endsAt: startedAt + order.forMs,
  }
  await Promise.all(Array.from({ length: order.connections }, () => driveConnection(load)))
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

/** Sends until the time is over, and resolves when the connection is closed. */
function driveConnection(load: Load): Promise<void> {
  const { hostname, port } = new URL(load.url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const connection: DriverConnection = { load, socket, sentAt: 0 }
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.once('connect', () => send(connection))
  socket.on('data', (chunk) => receive(connection, chunk))
  socket.on('error', (error) => fail(load, error.message))
  return closed
}

interface DriverConnection {
  load: Load
  socket: Socket
  request?: WireRequest
  sentAt: number
  /** The received part of an incomplete response. */
  partial?: Buffer
}

function send(connection: DriverConnection): void {
  const { load, socket } = connection
  const isEnough = load.requests !== undefined && load.sent >= load.requests
  if (isEnough || performance.now() >= load.endsAt) {
    socket.end()
    return
  }
  load.sent += 1
  connection.request = nextRequest(load.source, load.operation)
  connection.sentAt = performance.now()
  socket.write(connection.request.bytes, 'latin1')
}

function receive(connection: DriverConnection, chunk: Buffer): void {
  const bytes = connection.partial ? Buffer.concat([connection.partial, chunk]) : chunk
  const length = responseLength(bytes)
  if (length === undefined || bytes.length < length) {
    connection.partial = bytes
    return
  }
  connection.partial = undefined
  recordResponse(connection, bytes)
  send(connection)
}

function recordResponse({ load, request, sentAt }: DriverConnection, bytes: Buffer): void {
  if (!request) throw new Error('a response came without a request')
  if (statusOf(bytes) !== request.expectedStatus) {
    fail(load, bytes.toString())
    return
  }
  load.latencies.push(performance.now() - sentAt)
  if (load.collectsAcknowledged && request.reference !== undefined) load.acknowledged.push(request.reference)
}

function fail(load: Load, message: string): void {
  load.failed += 1
  load.firstFailure ??= message
}

const ZERO = 0x30

/** The three digits after "HTTP/1.1 ". */
function statusOf(bytes: Buffer): number {
  const digit = (at: number) => (bytes[at] ?? ZERO) - ZERO
  return 100 * digit(9) + 10 * digit(10) + digit(11)
}

/** The length of head and body; undefined while the head is incomplete. */
function responseLength(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd)) ?? []
  if (length === undefined) throw new Error('a response has no content-length')
  return headEnd + 4 + Number(length)
}
