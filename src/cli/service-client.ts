// The HTTP client of the commands. On the machine of the service it reads the address from the data folder.

import type { ClientConfig } from '../config.ts'
import { isRecord } from '../core/canonical.ts'
import type { HttpClient } from '../kit/http/http-client.ts'
import { readServerFile } from './server-file.ts'
import { CommandError, type Envelope } from './terminal.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface ServiceRequest {
  method: Method
  path: string
  headers?: Record<string, string>
  body?: object
  /** For operations that take longer than the default. */
  timeoutMs?: number
}

export interface ServiceClient {
  readonly url: string
  /** Returns any JSON. A network error is a CommandError that says what to do. */
  call(request: ServiceRequest): Promise<{ status: number; body: unknown }>
  /** Returns the envelope of a success or of an error. */
  callForEnvelope(request: ServiceRequest): Promise<{ status: number; envelope: Envelope }>
  /** Posts JSON text unchanged, and returns any response. */
  postText(
    path: string,
    text: string,
    headers: Record<string, string>,
    timeoutMs: number,
  ): Promise<{ status: number; text: string }>
  /** Posts a form as a browser does; returns the redirect target, if any. */
  postForm(path: string, fields: Record<string, string>): Promise<{ status: number; location: string | null }>
}

export async function connectService(config: ClientConfig, http: HttpClient): Promise<ServiceClient> {
  const url = await findUrl(config)
  const send = async (request: Parameters<HttpClient['request']>[0]) => {
    const response = await http.request(request)
    if (response.kind === 'not_sent') throw unreachable(url, config, response.error)
    if (response.kind === 'unknown') throw outcomeUnknown(url, response.error)
    return response
  }
  const call = async ({ method, path, headers, body, timeoutMs }: ServiceRequest) => {
    const json = body && { 'content-type': 'application/json' }
    const response = await send({
      method,
      url: `${url}${path}`,
      headers: { accept: 'application/json', ...headers, ...json },
      body: body && JSON.stringify(body),
      totalTimeoutMs: timeoutMs,
    })
    return { status: response.status, body: parseJson(response.body, url, response.status) }
  }
  return {
    url,
    call,
    async callForEnvelope(request) {
      const { status, body } = await call(request)
      if (!isEnvelope(body)) throw unexpectedResponse(url, status)
      return { status, envelope: body }
    },
    async postText(path, text, headers, totalTimeoutMs) {
      const json = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
      const request = { method: 'POST', url: `${url}${path}`, body: text, totalTimeoutMs } as const
      const { status, body } = await send({ ...request, headers: { ...headers, ...json } })
      return { status, text: body.toString('utf8') }
    },
    async postForm(path, fields) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const body = new URLSearchParams(fields).toString()
      const { status, headers: answered } = await send({
        method: 'POST',
        url: `${url}${path}`,
        headers,
        body,
      })
      return { status, location: answered.location ?? null }
    },
  }
}

async function findUrl(config: ClientConfig): Promise<string> {
  return config.url ?? (await readServerFile(config.dataDir))?.url ?? config.localUrl
}

/** The data folder belongs to the service on this machine, so its secrets are never sent elsewhere. */
export function isLocal(url: string): boolean {
  return ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname)
}

/** The message of the service, followed by the issue of each field. */
export function commandErrorOf(envelope: Envelope): CommandError {
  return new CommandError('refused', explain(envelope), envelope)
}

/** Errors worth a retry: no response, or an API error that is marked retryable. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof CommandError)) return false
  const details = error.envelope.error
  if (typeof details !== 'object' || details === null) return false
  const isUnreachable = 'code' in details && TRANSIENT_CODES.includes(String(details.code))
  return isUnreachable || ('retryable' in details && details.retryable === true)
}

/** The request was sent, and no response came. */
export function isOutcomeUnknown({ envelope }: CommandError): boolean {
  return isRecord(envelope.error) && envelope.error.code === OUTCOME_UNKNOWN
}

const OUTCOME_UNKNOWN = 'outcome_unknown'

const TRANSIENT_CODES: readonly string[] = ['service_unreachable', OUTCOME_UNKNOWN, 'unexpected_answer']

function unreachable(url: string, config: ClientConfig, error: string): CommandError {
  const advice = config.url
    ? 'Check COWRY_URL and that the service is running.'
    : `Start it with "npm start", set COWRY_DATA_DIR to its data folder (now ${config.dataDir}), or set COWRY_URL to its address.`
  return new CommandError('service_unreachable', `No service responds at ${url} (${error}). ${advice}`)
}

function outcomeUnknown(url: string, error: string): CommandError {
  return new CommandError(
    OUTCOME_UNKNOWN,
    `The service at ${url} did not respond (${error}). The change may have been made: list before you repeat.`,
  )
}

function unexpectedResponse(url: string, status: number): CommandError {
  return new CommandError(
    'unexpected_answer',
    `The server at ${url} (HTTP ${status}) is not a Cowry service. Check COWRY_URL.`,
  )
}

function parseJson(body: Buffer, url: string, status: number): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw unexpectedResponse(url, status)
  }
}

function isEnvelope(value: unknown): value is Envelope {
  return (
    typeof value === 'object' &&
    value !== null &&
    'status' in value &&
    (value.status === 'success' || value.status === 'error') &&
    'message' in value &&
    typeof value.message === 'string'
  )
}

function explain({ message, error }: Envelope): string {
  const details = typeof error === 'object' && error !== null && 'details' in error ? error.details : []
  const lines = Array.isArray(details)
    ? details.map((detail: { field?: unknown; message?: unknown }) => `  ${detail.field}: ${detail.message}`)
    : []
  return [message, ...lines].join('\n')
}
