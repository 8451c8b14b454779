// What every attempt of a call sends, from the options of the client and of the call. No message has the key or the value of
// a header: messages are logged.

import { CowryArgumentError } from './errors.ts'
import { USER_AGENT } from './generated/version.ts'
import type { ClientOptions, RequestOptions } from './transport.ts'

/** The key, without the line break at the end of a file. */
export function readApiKey(given: string): string {
  const apiKey = given?.trim()
  if (!apiKey) throw new TypeError('Cowry needs an apiKey.')
  if (!/^[!-~]+$/.test(apiKey))
    throw new TypeError('The apiKey has a space, a line break or another character that no key has.')
  return apiKey
}

/** Without this check fetch would fail for a wrong address as it does for a service that is away. */
export function readBaseUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!url || !isHttp || url.username || url.password || url.search || url.hash)
    throw new TypeError(
      'Cowry needs a baseUrl such as https://pay.example: with a scheme, without user or query.',
    )
  return url.origin + url.pathname.replace(/\/+$/, '')
}

export function toHeaders(method: string, client: ClientOptions, options: RequestOptions): Headers {
  const headers = new Headers({ 'user-agent': USER_AGENT })
  const given = Object.entries({ ...client.headers, ...options.headers })
  for (const [name, value] of given) setHeader(headers, name, value)
  headers.set('x-api-key', client.apiKey)
  const ownKey = options.idempotencyKey ?? headers.get('idempotency-key')
  if (method === 'POST') setHeader(headers, 'idempotency-key', ownKey ?? crypto.randomUUID())
  return headers
}

function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value)
  } catch {
    // Without its cause, which has the value in its message.
    throw new CowryArgumentError(`The header ${name} has a character that no header may have.`)
  }
}

/** One init for all attempts, so that they carry the same Idempotency-Key and the same body. */
export function toInit(method: string, headers: Headers, body: unknown): RequestInit {
  // A redirect would carry the API key to another host.
  const init: RequestInit = { method, headers, redirect: 'manual' }
  if (body === undefined) return init
  headers.set('content-type', 'application/json')
  return { ...init, body: toJson(body) }
}

function toJson(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch (error) {
    throw new CowryArgumentError(`The body cannot be written as JSON: ${String(error)}`)
  }
}
