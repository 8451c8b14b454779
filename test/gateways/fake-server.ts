// The server of a fake provider. It listens on a real socket, so that the real connector and HTTP client run against
// it, and injects the faults of providers and networks.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { cleanUp } from '../support/cleanups.ts'
import { refuseStray } from '../support/stray-deliveries.ts'

/**
 * How a request fails. Without `_after_acting` the provider never saw the request, unless only the response is faulty:
 * garbage, truncated, huge_body and slow happen after the provider has acted.
 */
export type Fault =
  | 'hang'
  | 'hang_after_acting'
  | 'cut_off'
  | 'cut_off_after_acting'
  | 'http_500'
  | 'http_500_after_acting'
  | 'html_403'
  | 'html_503'
  | 'garbage'
  | 'truncated'
  | 'huge_body'
  | 'slow'
  | 'http_409'
  | 'http_429'

export interface FakeRequest {
  method: string
  /** Without the query. */
  path: string
  query: URLSearchParams
  /** Names in lower case. */
  headers: Record<string, string>
  text: string
}

export interface FakeReply {
  http: number
  /** Text is sent as it is, anything else as JSON; an empty body when absent. */
  body?: unknown
  headers?: Record<string, string>
}

export interface FakeServer {
  /** Without a trailing slash. */
  readonly url: string
  /** The received requests, oldest first, including those with a fault. */
  readonly requests: FakeRequest[]
  /**
   * Injects this fault: into `times` requests or all, of those whose "METHOD /path" matches `on`, after the first
   * `after` of them.
   */
  injectFault(kind: Fault, options?: { times?: number; on?: RegExp; after?: number }): void
  /** Changes the JSON of every response from now on. */
  alter(change: Alteration): void
  /** Ends all faults and alterations. */
  clearFaults(): void
  /** Refuses connections from now on. */
  close(): Promise<void>
}

/** Gets the JSON value of a response and returns the value to send. */
export type Alteration = (value: unknown) => unknown

export interface FakeServerOptions {
  /** The provider's JSON for an error of its front-end server. */
  errorBody?(http: number): unknown
  /** What is wrong with a request by the provider's own description. Any issue fails the test. */
  issuesOf?(request: FakeRequest): string[]
}

interface PlannedFault {
  kind: Fault
  on: RegExp | undefined
  skip: number
  remaining: number
}

const HUGE_BYTES = 10_000_000
const KEEP_ALIVE_MS = 120_000
const SLOW_MS = 250
const GARBAGE = Buffer.from('00ff7b225ad0fe0a3c212d2d8f1b', 'hex')

export async function startFakeServer(
  t: Pick<TestContext, 'after'>,
  handle: (request: FakeRequest) => Promise<FakeReply>,
  { errorBody = (http) => ({ error: `HTTP ${http}` }), issuesOf = () => [] }: FakeServerOptions = {},
): Promise<FakeServer> {
  const requests: FakeRequest[] = []
  const plans: PlannedFault[] = []
  const handlerErrors: unknown[] = []
  const issues: string[] = []
  let alteration: Alteration | undefined

  const nextFault = ({ method, path }: FakeRequest): Fault | undefined => {
    const plan = plans.find(({ remaining, on }) => remaining > 0 && (on?.test(`${method} ${path}`) ?? true))
    if (!plan) return undefined
    plan.skip -= 1
    if (plan.skip >= 0) return undefined
    plan.remaining -= 1
    return plan.kind
  }
  const server = createServer(async (incoming, response) => {
    if (refuseStray(incoming, response)) return
    try {
      const request = await readRequest(incoming)
      requests.push(request)
      issues.push(...issuesOf(request))
      const act = async () => altered(await handle(request), alteration)
      await answer(response, { request, fault: nextFault(request), act, errorBody })
    } catch (error) {
      // An error in the handler is a bug of the fake: the test must fail with it and not see a provider error.
      if (!incoming.destroyed || !response.destroyed) handlerErrors.push(error)
      response.destroy()
    }
  })
  // A busy machine must not end a connection just when the client uses it again.
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const url = await listen(server)
  const close = () => stop(server)
  cleanUp(t, async () => {
    await close()
    if (handlerErrors.length > 0) throw new AggregateError(handlerErrors, 'the fake provider failed')
    if (issues.length > 0)
      throw new Error(
        `a request differs from the provider's description:\n${[...new Set(issues)].join('\n')}`,
      )
  })
  return {
    url,
    requests,
    injectFault: (kind, { times = Number.POSITIVE_INFINITY, on, after = 0 } = {}) =>
      plans.push({ kind, on, skip: after, remaining: times }),
    alter: (change) => {
      alteration = change
    },
    clearFaults: () => {
      plans.splice(0)
      alteration = undefined
    },
    close,
  }
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('the fake provider is not listening')
  return `http://127.0.0.1:${address.port}`
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // A second close reports that the server is not running, which is the desired state.
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

async function readRequest(incoming: IncomingMessage): Promise<FakeRequest> {
  const url = new URL(incoming.url ?? '/', 'http://fake')
  // Every client has its own user agent, which no provider reads.
  const { 'user-agent': _userAgent, ...read } = incoming.headers
  const headers = Object.entries(read).map(([name, value]) => [name, String(value)])
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: Object.fromEntries(headers),
    text: await readText(incoming),
  }
}

interface FakeExchange {
  request: FakeRequest
  fault: Fault | undefined
  act(): Promise<FakeReply>
  errorBody(http: number): unknown
}

async function answer(
  response: ServerResponse,
  { request, fault, act, errorBody }: FakeExchange,
): Promise<void> {
  switch (fault) {
    case undefined:
      return reply(response, await act())
    case 'hang':
      return
    case 'hang_after_acting':
      await act()
      return
    case 'cut_off':
      response.destroy()
      return
    case 'cut_off_after_acting':
      await act()
      response.destroy()
      return
    case 'http_500':
      return reply(response, { http: 500, body: errorBody(500) })
    case 'http_500_after_acting':
      await act()
      return reply(response, { http: 500, body: errorBody(500) })
    case 'html_403':
      return replyPage(response, 403, request)
    case 'html_503':
      return replyPage(response, 503, request)
    case 'garbage':
      return reply(response, { ...(await act()), body: GARBAGE })
    case 'truncated':
      return replyTruncated(response, await act())
    case 'huge_body':
      return replyHuge(response, await act())
    case 'slow': {
      const whole = await act()
      await delay(SLOW_MS)
      return reply(response, whole)
    }
    case 'http_409':
      return reply(response, { http: 409, body: errorBody(409) })
    case 'http_429':
      return reply(response, { http: 429, body: errorBody(429), headers: { 'retry-after': '1' } })
  }
}

function reply(response: ServerResponse, { http, body, headers = {} }: FakeReply): void {
  response.writeHead(http, { 'content-type': 'application/json', ...headers })
  response.end(toBytes(body))
}

/** Like a careless proxy it echoes the request, so a connector that passes on the page leaks the credentials. */
function replyPage(
  response: ServerResponse,
  http: number,
  { path, query, headers, text }: FakeRequest,
): void {
  const echo = `${path}?${query}\n${JSON.stringify(headers)}\n\n${text}`
  response.writeHead(http, { 'content-type': 'text/html' })
  response.end(`<!doctype html><title>${http}</title><pre>${echo}</pre>`)
}

/** Half of the body with a content-length that matches, so that only JSON parsing detects it. */
function replyTruncated(response: ServerResponse, { body, ...rest }: FakeReply): void {
  const whole = toBytes(body)
  reply(response, { ...rest, body: whole.subarray(0, Math.floor(whole.length / 2)) })
}

/** The correct response after ten megabytes of white space: a client without a limit would accept it. */
async function replyHuge(response: ServerResponse, { http, body, headers = {} }: FakeReply): Promise<void> {
  response.writeHead(http, { 'content-type': 'application/json', ...headers })
  try {
    await pipeline(padded(toBytes(body)), response)
  } catch (error) {
    // A client with a size limit aborts here, which is correct.
    if (!response.destroyed) throw error
  }
}

function* padded(body: Buffer): Iterable<Buffer> {
  const chunk = Buffer.alloc(HUGE_BYTES / 100, ' ')
  for (let count = 0; count < 100; count += 1) yield chunk
  yield body
}

function altered(reply: FakeReply, alteration: Alteration | undefined): FakeReply {
  if (!alteration || toBytes(reply.body).length === 0) return reply
  return { ...reply, body: JSON.stringify(alteration(JSON.parse(toBytes(reply.body).toString()))) }
}

function toBytes(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
