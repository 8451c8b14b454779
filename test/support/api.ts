// An HTTP client that returns the status, headers and body of every response. It is not fetch, which needs two to three
// times as much processor time for a request.

import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { eventually } from './process.ts'

export interface ApiResponse {
  http: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  body: any
  text: string
}

export interface Api {
  /** Retries while the service is busy, because a busy machine says nothing about what a test reads. `send` does not. */
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<ApiResponse>
  /** Sends the body unchanged, for values that JSON.stringify cannot write. */
  postText(
    path: string,
    text: string | Uint8Array<ArrayBuffer>,
    headers?: Record<string, string>,
  ): Promise<ApiResponse>
  send(method: string, path: string, init?: RequestOptions): Promise<ApiResponse>
}

export interface RequestOptions {
  body?: string | Uint8Array | Readable
  headers?: Record<string, string | undefined>
  signal?: AbortSignal
}

// A service that stops waits for the connections of its clients.
const connections = new Agent({ keepAliveTimeout: 100 })

export function createApi(url: string, common: Record<string, string>): Api {
  const send: Api['send'] = async (method, path, { body, headers, signal } = {}) => {
    const options = { method, headers: { accept: '*/*', ...common, ...headers }, dispatcher: connections }
    try {
      const answer = await request(`${url}${path}`, {
        ...options,
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      })
      const text = await answer.body.text()
      return { http: answer.statusCode, headers: headersOf(answer.headers), text, body: parse(text) }
    } catch (error) {
      throw new TypeError(`no response to ${method} ${path}: ${error}`, { cause: error })
    }
  }
  const json = { 'content-type': 'application/json' }
  return {
    send,
    get: (path, headers) => readUntilFree(() => send('GET', path, { headers })),
    post: (path, body, headers) =>
      send('POST', path, { body: JSON.stringify(body), headers: { ...json, ...headers } }),
    postText: (path, body, headers) => send('POST', path, { body, headers: { ...json, ...headers } }),
  }
}

const MAX_READS = 40
const RETRY_MS = 250

async function readUntilFree(read: () => Promise<ApiResponse>): Promise<ApiResponse> {
  let answer = await read()
  for (let reads = 1; isBusy(answer) && reads < MAX_READS; reads += 1) {
    await delay(RETRY_MS)
    answer = await read()
  }
  return answer
}

function isBusy({ http, body }: ApiResponse): boolean {
  return http === 503 && body?.error?.code === 'temporarily_unavailable'
}

const isFree = ({ http }: ApiResponse) => http !== 503

/** Retries as the response says: on a busy machine the service may have no connection free for a while. */
export async function postUntilFree(api: Api, path: string, body: unknown): Promise<ApiResponse> {
  return eventually(() => api.post(path, body), isFree, 30_000)
}

function headersOf(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(received))
    for (const one of [value ?? []].flat()) headers.append(name, one)
  return headers
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
