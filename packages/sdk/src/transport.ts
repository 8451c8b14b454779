// Sends requests: headers, timeouts, retries with the same Idempotency-Key, and errors from error responses.

import { CowryConnectionError, CowryError, type CowryErrorFields } from './errors.ts'
import { readApiKey, readBaseUrl, toHeaders, toInit } from './request-init.ts'
import { delayBefore, isRepeatable, readRetryAfter, wait } from './retry.ts'

export interface ClientOptions {
  /** The key of a merchant: cowry_test_… or cowry_live_…. Keep it on your server. */
  apiKey: string
  /** The address of the service with its scheme, such as https://pay.example. */
  baseUrl: string
  /** For one attempt; 30 seconds if absent. The service waits for a gateway at most about 20 seconds. */
  timeoutMs?: number | undefined
  /** Attempts after the first one; 3 if absent. */
  maxRetries?: number | undefined
  /** Sent with every request. */
  headers?: Record<string, string> | undefined
  /** Instead of the global fetch, for a proxy, a trace or a test. */
  fetch?: typeof fetch | undefined
}

export interface RequestOptions {
  /**
   * Of a POST; at most 255 characters. Set it where your own retries, after a crash too, must not repeat the request. If it
   * is absent, the client generates one for each call and sends it with every attempt.
   */
  idempotencyKey?: string | undefined
  /** Aborts the call; it then rejects with the reason of the signal. The request may have been executed. */
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  maxRetries?: number | undefined
  headers?: Record<string, string> | undefined
}

export type Query = Readonly<Record<string, unknown>>

export interface ApiRequest {
  method: string
  /** From the root of the service, such as /api/v1/customers. */
  path: string
  query?: Query | undefined
  body?: unknown
  /** The response is a file, whose body is not read here. */
  isFile?: boolean
}

export interface ApiResponse<Data> {
  data: Data
  /** Of a list. */
  meta?: unknown
  requestId: string | undefined
  /** True if an earlier request with the same key or reference created the record. */
  isReplayed: boolean
  response: Response
}

/** Sends a request, with retries. */
export type Transport = <Data>(
  request: ApiRequest,
  options?: RequestOptions | undefined,
) => Promise<ApiResponse<Data>>

const TIMEOUT_MS = 30_000
/** A timer takes no longer time, and would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1
const MAX_RETRIES = 3

export function createTransport(client: ClientOptions): Transport {
  const apiKey = readApiKey(client.apiKey)
  const baseUrl = readBaseUrl(client.baseUrl)

  return async <Data>(request: ApiRequest, options: RequestOptions = {}): Promise<ApiResponse<Data>> => {
    const url = baseUrl + request.path + toQueryString(request.query)
    const method = request.method.toUpperCase()
    const init = toInit(method, toHeaders(method, { ...client, apiKey }, options), request.body)
    const maxRetries = options.maxRetries ?? client.maxRetries ?? MAX_RETRIES
    const attempt: Attempt = {
      // Called without an object: the fetch of a runtime rejects a foreign `this`.
      send: client.fetch ?? fetch,
      signal: options.signal,
      timeoutMs: Math.min(options.timeoutMs ?? client.timeoutMs ?? TIMEOUT_MS, MAX_TIMEOUT_MS),
      isFile: request.isFile === true,
    }
    for (let retry = 1; ; retry += 1) {
      try {
        return await sendOnce<Data>(url, init, attempt)
      } catch (error) {
        const isFinal = !(error instanceof CowryError) || !isRepeatable(method, error)
        if (isFinal || retry > maxRetries) throw error
        await wait(delayBefore(retry, error), options.signal)
      }
    }
  }
}

/** Lists with commas, and objects as name[key]=value. */
function toQueryString(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || value === null) return []
    if (Array.isArray(value)) return value.length > 0 ? [[name, value.join(',')]] : []
    if (typeof value !== 'object') return [[name, String(value)]]
    return Object.entries(value).map(([key, member]) => [`${name}[${key}]`, String(member)])
  })
  return pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : ''
}

interface Attempt {
  send: typeof fetch
  signal: AbortSignal | undefined
  timeoutMs: number
  isFile: boolean
}

async function sendOnce<Data>(url: string, init: RequestInit, attempt: Attempt): Promise<ApiResponse<Data>> {
  const { send, signal, timeoutMs, isFile } = attempt
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  let isTimeout = false
  const timer = setTimeout(() => {
    isTimeout = true
    controller.abort()
  }, timeoutMs)
  try {
    const response = await send(url, { ...init, signal: controller.signal })
    // A large file may take longer than the timeout, and the caller's signal may still abort it.
    if (isFile && response.ok) return toResponse(response, response as Data)
    const text = await response.text()
    signal?.removeEventListener('abort', abort)
    return readResponse<Data>(response, text)
  } catch (error) {
    signal?.removeEventListener('abort', abort)
    signal?.throwIfAborted()
    if (error instanceof CowryError) throw error
    if (isTimeout)
      throw new CowryConnectionError('timeout', `No complete response within ${timeoutMs} ms.`, error)
    throw new CowryConnectionError('connection_failed', `No complete response: ${String(error)}`, error)
  } finally {
    clearTimeout(timer)
  }
}

/** The JSON of a success response or of an error response. */
interface Envelope {
  message?: string
  data?: unknown
  meta?: unknown
  error?: Omit<CowryErrorFields, 'status'>
}

function readResponse<Data>(response: Response, text: string): ApiResponse<Data> {
  const envelope = parse(text)
  // A boundary: the service answers with the data that the OpenAPI document describes.
  if (response.ok && envelope && 'data' in envelope)
    return toResponse(response, envelope.data as Data, envelope.meta)
  throw toError(response, envelope)
}

function toResponse<Data>(response: Response, data: Data, meta?: unknown): ApiResponse<Data> {
  const { headers } = response
  const isReplayed = headers.get('idempotent-replayed') === 'true'
  return { data, meta, requestId: requestIdOf(response), isReplayed, response }
}

const requestIdOf = ({ headers }: Response) => headers.get('x-request-id') ?? undefined

function parse(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** What a proxy answers while the service is away or busy. */
const PASSING_STATUSES = [408, 425, 429, 500, 502, 503, 504]

function toError(response: Response, envelope: Envelope | undefined): CowryError {
  const { status, headers } = response
  const retryAfterMs = readRetryAfter(headers.get('retry-after'))
  const requestId = requestIdOf(response)
  if (envelope?.error)
    return new CowryError(envelope.message ?? envelope.error.code, {
      requestId,
      ...envelope.error,
      status,
      retryAfterMs,
    })
  // A success whose text is cut or is not from Cowry has an unknown outcome, like a broken connection.
  const retryable = response.ok || PASSING_STATUSES.includes(status)
  const fields = {
    code: 'unexpected_response',
    type: 'client_error',
    retryable,
    requestId,
    status,
    retryAfterMs,
  } as const
  return new CowryError(`The response with status ${status} is not from Cowry. Check baseUrl.`, fields)
}
