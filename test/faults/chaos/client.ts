// A merchant's server on a bad network: it retries at the other process, with the same body and key, until it gets a
// final response.

import { setTimeout as delay } from 'node:timers/promises'

export interface ClientRequest {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  key?: string
  /** Whether the record is in the expected state; absent: any state is. */
  isFinal?(data: ClientResponse['data']): boolean
  /** The error code that says that an earlier attempt has succeeded. */
  alreadyDoneCode?: string
}

export interface ClientResponse {
  /** Null when the request was rejected. */
  // biome-ignore lint/suspicious/noExplicitAny: every operation answers a record of its own
  data: any
}

export interface Client {
  /** Retries until it gets a response; undefined when the run ended before. */
  sendUntilAnswered(request: ClientRequest): Promise<ClientResponse | undefined>
  /** Sends once, and does not retry without a response. */
  sendOnce(request: ClientRequest): Promise<ClientResponse | undefined>
}

export interface ClientOptions {
  apiUrls: readonly string[]
  apiKey: string
  /** Whether the run is over, so that no request is retried. */
  isOver(): boolean
  /** Called with responses that no client should get. */
  reportError(message: string): void
  /** Called with every response, and with every failure to get one. */
  count(what: string): void
}

// Longer than a charge whose gateway does not respond, shorter than merchants wait.
const RESPONSE_TIMEOUT_MS = 6_000
const INITIAL_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 1_000

export function createClient(options: ClientOptions, first: number): Client {
  let turn = first
  const attempt = async (request: ClientRequest): Promise<ClientResponse | 'again'> => {
    turn += 1
    const url = options.apiUrls[turn % options.apiUrls.length] ?? ''
    const answer = await send(`${url}${request.path}`, options.apiKey, request)
    options.count('failure' in answer ? answer.failure : String(answer.http))
    if ('failure' in answer) return 'again'
    const { http, text } = answer
    const { data, error } = parse(text)
    if (http >= 200 && http < 300) return request.isFinal?.(data) === false ? 'again' : { data }
    // A 500 is retryable too, but no client should get one.
    if (http >= 500 && http !== 503) options.reportError(`${request.method} ${request.path}: ${http} ${text}`)
    if (error?.retryable === true) return 'again'
    if (error?.code !== request.alreadyDoneCode)
      options.reportError(`${request.method} ${request.path}: ${http} ${text}`)
    return { data: null }
  }
  return {
    async sendOnce(request) {
      const answer = await attempt(request)
      return answer === 'again' ? undefined : answer
    },
    async sendUntilAnswered(request) {
      for (
        let backoffMs = INITIAL_BACKOFF_MS;
        !options.isOver();
        backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS)
      ) {
        const answer = await attempt(request)
        if (answer !== 'again') return answer
        await delay(backoffMs)
      }
      options.reportError(`${request.method} ${request.path} got no response`)
      return undefined
    },
  }
}

async function send(
  url: string,
  apiKey: string,
  { method, body, key }: ClientRequest,
): Promise<{ http: number; text: string } | { failure: string }> {
  try {
    const answer = await fetch(url, {
      method,
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
    })
    return { http: answer.status, text: await answer.text() }
  } catch (error) {
    // Refused, reset, cut or timed out: the outcome is unknown.
    const { name, cause } = error as Error & { cause?: { code?: string } }
    return { failure: cause?.code ?? name }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: every operation answers a record of its own
function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
