// The only place that makes outgoing HTTP calls. It tells "not sent" (provably no byte of the request left us) from
// "unknown" (anything after the first byte), because only the first of them may be tried elsewhere.

import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'

/** The code of a trouble is what the system or the client calls it, such as ECONNREFUSED. */
export type HttpResult =
  | { kind: 'answered'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'not_sent'; code: string; error: string }
  | { kind: 'unknown'; code: string; error: string }

/** Answers the addresses that may be connected to, and throws when there are none. */
export type ResolveHost = (host: string) => Promise<LookupAddress[]>

/** The code of what took longer than the whole of it may take. */
export const TOTAL_TIMEOUT = 'ERR_TOTAL_TIMEOUT'

interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string | Buffer
  totalTimeoutMs?: number
  /** Read no more of the body than this, and hang up on the rest: the answer is what has come so far. */
  truncateBodyAfterBytes?: number
}

export interface HttpClient {
  /** Never throws for trouble on the network, which is an answer; a malformed URL or header is our bug and throws. */
  request(request: HttpRequest): Promise<HttpResult>
  /** Waits for the requests under way, each of which is bounded by its total timeout. */
  close(): Promise<void>
}

export interface HttpClientOptions {
  connectTimeoutMs?: number
  /** From the call to the last byte of the answer, waiting for a connection included. */
  totalTimeoutMs?: number
  maxBodyBytes?: number
  /** Connections per origin; requests beyond them wait their turn. */
  connections?: number
  /** Asked before every connection, about addresses in numbers too; without it the system is, about names alone. */
  resolve?: ResolveHost
}

// undici counts connect time in half seconds, so a dead host takes up to half a second longer.
const CONNECT_TIMEOUT_MS = 1_000
const TOTAL_TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 1_048_576
const CONNECTIONS = 128

// A pooled connection that the server closes just as we write on it makes an unknown outcome, so ours are given up
// well before the five seconds after which common servers close theirs.
const KEEP_ALIVE_MS = 2_000
const KEEP_ALIVE_MAX_MS = 4_000

// Where a host has several addresses, this long is waited for one before the next is tried.
const NEXT_ADDRESS_AFTER_MS = 1_000

export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const connecting = { timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, allowH2: false }
  const agent = new Agent({
    connections: options.connections ?? CONNECTIONS,
    // One request at a time per connection: a pipelined one would share the fate of its neighbour.
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

/** Connects to what `resolve` answers and to nothing else; the certificate is still asked for the name. */
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
    // The system looks up no numbers, so nobody would be asked about them.
    if (isIP(host) === 0) return void connect(options, callback)
    resolve(host).then(
      () => void connect(options, callback),
      (error) => callback(error, null),
    )
  }
}

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
      headers: request.headers,
      body: request.body,
    },
    handler,
  )
  return promise
}

/** Follows one request from the queue to the end of its answer. The first verdict stands. */
function createResponseHandler(
  {
    timeoutMs,
    truncateAfterBytes = Number.POSITIVE_INFINITY,
  }: { timeoutMs: number; truncateAfterBytes?: number },
  resolve: (answer: HttpResult) => void,
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
    // undici's word for arguments it refuses: no network was asked.
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
    timeoutError = Object.assign(new Error(`no complete answer within ${timeoutMs} ms`), {
      code: TOTAL_TIMEOUT,
    })
    if (controller) controller.abort(timeoutError)
    fail(timeoutError)
  }, timeoutMs)

  return {
    // undici calls this right before it writes the request line, and writes nothing when it throws. A request that
    // was given up while it waited for a connection has been called "not sent", so it must not leave any more.
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
      reading.abort(new Error('enough of the answer was read'))
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

/** The code first: messages of some errors are empty, and the code is what an operator searches for. */
function describeError(error: Error): { code: string; error: string } {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { code, error: error.message.includes(code) ? error.message : `${code}: ${error.message}` }
}
