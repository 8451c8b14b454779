// A merchant's server that knows what to do about a bad network: it asks again, at the other process, with the same body
// and the same key, until it has an answer that means something.

import { setTimeout as delay } from 'node:timers/promises'

export interface ClientRequest {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  key?: string
  /** Whether the record is what was request for; absent: any is. */
  isFinal?(data: ClientResponse['data']): boolean
  /** The code of the refusal that says that an earlier try has done it. */
  alreadyDoneCode?: string
}

export interface ClientResponse {
  /** Null when it was refused. */
  // biome-ignore lint/suspicious/noExplicitAny: every operation answers a record of its own
  data: any
}

export interface Client {
  /** Asks until it is answered; undefined when there was no answer before the end. */
  sendUntilAnswered(request: ClientRequest): Promise<ClientResponse | undefined>
  /** Asks once, and goes away without an answer if there is none. */
  sendOnce(request: ClientRequest): Promise<ClientResponse | undefined>
}

export interface ClientOptions {
  apiUrls: readonly string[]
  apiKey: string
  /** When nobody waits for an answer any more. */
  isOver(): boolean
  /** Told of answers that nobody should ever get. */
  reportError(words: string): void
  /** Told of every answer, and of every one that did not come. */
  count(what: string): void
}

// Longer than a charge whose gateway does not answer, shorter than people wait.
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
    // An error of our own is retryable too, and still nobody should get one.
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
      options.reportError(`${request.method} ${request.path} was never answered`)
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
    // Refused, reset, cut or too late: what became of it nobody knows.
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
