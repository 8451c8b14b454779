// The only place that makes outgoing HTTP calls. It distinguishes "not sent" (provably no byte of the request left us)
// from "unknown" (anything after the first byte), because only an unsent request may be sent elsewhere.

import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import packageFacts from '../../../package.json' with { type: 'json' }

/** The code is the one of the system or the client, such as ECONNREFUSED. */
export type HttpResult =
  | { kind: 'answered'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'not_sent'; code: string; error: string }
  | { kind: 'unknown'; code: string; error: string }

/** Returns the addresses that may be connected to, and throws if there are none. */
export type ResolveHost = (host: string) => Promise<LookupAddress[]>

/** The code of a call that exceeded its total timeout. */
export const TOTAL_TIMEOUT = 'ERR_TOTAL_TIMEOUT'

interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string | Buffer
  totalTimeoutMs?: number
  /** The maximum number of bytes of the body to read; the connection is closed after them, and the rest is cut off. */
  truncateBodyAfterBytes?: number
}

export interface HttpClient {
  /** Never throws for a network failure, which is a result; a malformed URL or header is our bug and throws. */
  request(request: HttpRequest): Promise<HttpResult>
  /** Waits for the requests in flight, each of which is bounded by its total timeout. */
  close(): Promise<void>
}

export interface HttpClientOptions {
  connectTimeoutMs?: number
  /** From the call to the last byte of the response, including the wait for a connection. */
  totalTimeoutMs?: number
  maxBodyBytes?: number
  /** Connections per origin; further requests queue. */
  connections?: number
  /** Called before every connection, for IP addresses too. Absent: the system resolves names. */
  resolve?: ResolveHost
}

// undici counts connect time in half seconds, so a dead host takes up to half a second longer.
const CONNECT_TIMEOUT_MS = 1_000
const TOTAL_TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 1_048_576
const CONNECTIONS = 128

// If the server closes a pooled connection just as we write on it, the outcome is unknown. So we close idle connections
// well before the five seconds after which common servers close theirs.
const KEEP_ALIVE_MS = 2_000
const KEEP_ALIVE_MAX_MS = 4_000

// If a host has several addresses, the next is tried after this time.
const NEXT_ADDRESS_AFTER_MS = 1_000

export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const connecting = { timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, allowH2: false }
  const agent = new Agent({
    connections: options.connections ?? CONNECTIONS,
    // One request at a time per connection: a pipelined request would fail with the one before it.
    pipelining: 1,
    allowH2: false,
    connect: options.resolve ? connectVia(options.resolve, connecting) : connecting,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxResponseSize: options.maxBodyBytes ?? MAX_BODY_BYTES,
    // The total timeout below bounds both.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const totalTimeoutMs = options.totalTimeoutMs ?? TOTAL_TIMEOUT_MS
  return {
    request: (request) => send(agent, request, request.totalTimeoutMs ?? totalTimeoutMs),
    close: () => agent.close(),
  }
}

/** Connects only to what `resolve` returns; the certificate is still checked against the name. */
function connectVia(resolve: ResolveHost, connecting: buildConnector.BuildOptions): buildConnector.connector {
  const lookup: LookupFunction = (host, { all }, done) => {
    resolve(host).then(
      (found) => (all ? done(null, found) : done(null, found[0]?.address ?? '', found[0]?.family)),
      (error) => done(error, ''),
    )
  }
  const connect = buildConnector({
    ...connecting,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
  })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1')
    // The system does not look up IP addresses, so the check would be skipped for them.
    if (isIP(host) === 0) return void connect(options, callback)
    resolve(host).then(
      () => void connect(options, callback),
      (error) => callback(error, null),
    )
  }
}

// Some providers' firewalls challenge clients without one, and their support asks for the version.
const USER_AGENT = `Cowry/${packageFacts.version}`

async function send(agent: Agent, request: HttpRequest, timeoutMs: number): Promise<HttpResult> {
  const url = new URL(request.url)
  const { promise, resolve, reject } = Promise.withResolvers<HttpResult>()
  const handler = createResponseHandler(
    { timeoutMs, truncateAfterBytes: request.truncateBodyAfterBytes },
    resolve,
    reject,
  )
  agent.dispatch(
    {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers: { 'user-agent': USER_AGENT, ...request.headers },
      body: request.body,
    },
    handler,
  )
  return promise
}

/** Follows one request from the queue to the end of its response. The first result is final. */
function createResponseHandler(
  {
    timeoutMs,
    truncateAfterBytes = Number.POSITIVE_INFINITY,
  }: { timeoutMs: number; truncateAfterBytes?: number },
  resolve: (result: HttpResult) => void,
  reject: (error: Error) => void,
): Dispatcher.DispatchHandler {
  let controller: Dispatcher.DispatchController | undefined
  let status = 0
  let headers: Record<string, string> = {}
  const chunks: Buffer[] = []
  let bytes = 0
  let timeoutError: Error | undefined

  const fail = (error: Error) => {
    clearTimeout(timer)
    // undici throws this for arguments that it refuses, before any network access.
    if (!controller && 'code' in error && error.code === 'UND_ERR_INVALID_ARG') return reject(error)
    resolve({ kind: controller ? 'unknown' : 'not_sent', ...describeError(error) })
  }
  const finish = () => {
    clearTimeout(timer)
    resolve({
      kind: 'answered',
      status,
      headers,
      body: Buffer.concat(chunks).subarray(0, truncateAfterBytes),
    })
  }
  const timer = setTimeout(() => {
    timeoutError = Object.assign(new Error(`no complete response within ${timeoutMs} ms`), {
      code: TOTAL_TIMEOUT,
    })
    if (controller) controller.abort(timeoutError)
    fail(timeoutError)
  }, timeoutMs)

  return {
    // undici calls this right before it writes the request line, and writes nothing if it throws. A request that timed
    // out while it waited for a connection was reported as "not sent", so it must not leave afterwards.
    onRequestStart(started) {
      if (timeoutError) throw timeoutError
      // Writing it a second time would be a second request, which only the caller may decide on.
      if (controller) throw new Error('the request has left already')
      controller = started
    },
    onResponseStart(_controller, statusCode, received) {
      status = statusCode
      headers = flatten(received)
    },
    onResponseData(reading, chunk) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes <= truncateAfterBytes) return
      finish()
      reading.abort(new Error('enough of the response was read'))
    },
    onResponseEnd: finish,
    onResponseError(_controller, error) {
      fail(error)
    },
  }
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

/** The code comes first: some errors have an empty message, and operators search for the code. */
function describeError(error: Error): { code: string; error: string } {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { code, error: error.message.includes(code) ? error.message : `${code}: ${error.message}` }
}
