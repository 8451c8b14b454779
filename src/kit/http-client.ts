// The only place that makes outgoing HTTP calls. It tells "not sent" (provably no byte of the request left us) from
// "unknown" (anything after the first byte), because only the first of them may be tried elsewhere.

import { Agent, type Dispatcher } from 'undici'

export type HttpAnswer =
  | { kind: 'answered'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'not_sent'; error: string }
  | { kind: 'unknown'; error: string }

interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string | Buffer
  totalTimeoutMs?: number
}

export interface HttpClient {
  /** Never throws for trouble on the network, which is an answer; a malformed URL or header is our bug and throws. */
  request(request: HttpRequest): Promise<HttpAnswer>
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

export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const agent = new Agent({
    connections: options.connections ?? CONNECTIONS,
    // One request at a time per connection: a pipelined one would share the fate of its neighbour.
    pipelining: 1,
    allowH2: false,
    connect: { timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS },
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

async function send(agent: Agent, request: HttpRequest, timeoutMs: number): Promise<HttpAnswer> {
  const url = new URL(request.url)
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
  const exchange = watchExchange(timeoutMs, resolve, reject)
  agent.dispatch(
    {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers: request.headers,
      body: request.body,
    },
    exchange,
  )
  return promise
}

/** Follows one request from the queue to the end of its answer. The first verdict stands. */
function watchExchange(
  timeoutMs: number,
  resolve: (answer: HttpAnswer) => void,
  reject: (error: Error) => void,
): Dispatcher.DispatchHandler {
  let controller: Dispatcher.DispatchController | undefined
  let status = 0
  let headers: Record<string, string> = {}
  const chunks: Buffer[] = []
  let givenUp: Error | undefined

  const fail = (error: Error) => {
    clearTimeout(timer)
    // undici's word for arguments it refuses: no network was asked.
    if (!controller && 'code' in error && error.code === 'UND_ERR_INVALID_ARG') return reject(error)
    resolve({ kind: controller ? 'unknown' : 'not_sent', error: describe(error) })
  }
  const timer = setTimeout(() => {
    givenUp = new Error(`no complete answer within ${timeoutMs} ms`)
    if (controller) controller.abort(givenUp)
    fail(givenUp)
  }, timeoutMs)

  return {
    // undici calls this right before it writes the request line, and writes nothing when it throws. A request that
    // was given up while it waited for a connection has been called "not sent", so it must not leave any more.
    onRequestStart(started) {
      if (givenUp) throw givenUp
      // Writing it a second time would be a second request, which only the caller may decide on.
      if (controller) throw new Error('the request has left already')
      controller = started
    },
    onResponseStart(_controller, statusCode, received) {
      status = statusCode
      headers = flatten(received)
    },
    onResponseData(_controller, chunk) {
      chunks.push(chunk)
    },
    onResponseEnd() {
      clearTimeout(timer)
      resolve({ kind: 'answered', status, headers, body: Buffer.concat(chunks) })
    },
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
function describe(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return error.message.includes(code) ? error.message : `${code}: ${error.message}`
}
