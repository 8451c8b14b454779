// The command line as a client of the operators' API. On the machine of the service it finds the address and the token
// by itself, in the data folder.

import type { ClientConfig } from '../config.ts'
import type { HttpClient } from '../kit/http-client.ts'
import { readAdminToken } from '../merchants/service.ts'
import { readServerFile } from './server-file.ts'
import { CommandError, type Envelope } from './terminal.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface OperatorClient {
  readonly url: string
  /** The answer of a success. A refusal is a CommandError with the service's own words. */
  call(method: Method, path: string, body?: object): Promise<Envelope>
  /** Whether the service says it is ready; needs no token. */
  isReady(): Promise<{ ready: boolean; reasons: string[] }>
}

export async function connectOperator(config: ClientConfig, http: HttpClient): Promise<OperatorClient> {
  const url = config.url ?? (await readServerFile(config.dataDir))?.url ?? config.localUrl
  const request = async (method: Method, path: string, token?: string, body?: object) => {
    const answer = await http.request({
      method,
      url: `${url}${path}`,
      headers: {
        accept: 'application/json',
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
    })
    if (answer.kind === 'not_sent') throw unreachable(url, config, answer.error)
    if (answer.kind === 'unknown') throw unanswered(url, answer.error)
    return { status: answer.status, body: parseJson(answer.body, url, answer.status) }
  }
  return {
    url,
    async call(method, path, body) {
      const token = await findToken(config, url)
      const answer = await request(method, path, token, body)
      if (!isEnvelope(answer.body)) throw notCowry(url, answer.status)
      if (answer.body.status === 'success') return answer.body
      if (answer.status === 401) throw wrongToken(config, url)
      throw new CommandError('refused', explain(answer.body), answer.body)
    },
    async isReady() {
      const { status, body } = await request('GET', '/readyz')
      const reasons = typeof body === 'object' && body !== null && 'reasons' in body ? body.reasons : []
      return { ready: status === 200, reasons: Array.isArray(reasons) ? reasons.map(String) : [] }
    },
  }
}

function wrongToken(config: ClientConfig, url: string): CommandError {
  const source = config.adminToken === null ? `The token in ${config.dataDir}` : 'COWRY_ADMIN_TOKEN'
  return new CommandError(
    'wrong_admin_token',
    `${source} is not the operator token of the service at ${url}.`,
  )
}

async function readToken(dataDir: string): Promise<string | undefined> {
  try {
    return await readAdminToken(dataDir)
  } catch (error) {
    throw new CommandError(
      'unreadable_admin_token',
      `The operator token in ${dataDir} cannot be read (${error instanceof Error ? error.message : error}). Run this as the user who runs the service, or set COWRY_ADMIN_TOKEN.`,
    )
  }
}

/** The token of the data folder is for the service on this machine, so it is never sent anywhere else. */
async function findToken(config: ClientConfig, url: string): Promise<string> {
  const isHere = ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname)
  const token = config.adminToken ?? (isHere ? await readToken(config.dataDir) : undefined)
  if (token) return token
  throw new CommandError(
    'no_admin_token',
    isHere
      ? `There is no operator token in ${config.dataDir}: no service was started there. Start it with "npm start", set COWRY_DATA_DIR to the data folder of the service, or set COWRY_URL and COWRY_ADMIN_TOKEN.`
      : `Set COWRY_ADMIN_TOKEN to the operator token of ${url}.`,
  )
}

function unreachable(url: string, config: ClientConfig, error: string): CommandError {
  const advice = config.url
    ? 'Check COWRY_URL and that the service is running.'
    : `Start it with "npm start", set COWRY_DATA_DIR to its data folder (now ${config.dataDir}), or set COWRY_URL to its address.`
  return new CommandError('service_unreachable', `No service answers at ${url} (${error}). ${advice}`)
}

function unanswered(url: string, error: string): CommandError {
  return new CommandError(
    'outcome_unknown',
    `The service at ${url} did not answer (${error}). It may have done what was asked: list before you repeat.`,
  )
}

function notCowry(url: string, status: number): CommandError {
  return new CommandError(
    'unexpected_answer',
    `What answers at ${url} (HTTP ${status}) does not speak Cowry's API. Check COWRY_URL.`,
  )
}

function parseJson(body: Buffer, url: string, status: number): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw notCowry(url, status)
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

/** The message, and below it what is wrong with each field. */
function explain({ message, error }: Envelope): string {
  const details = typeof error === 'object' && error !== null && 'details' in error ? error.details : []
  const lines = Array.isArray(details)
    ? details.map((detail: { field?: unknown; message?: unknown }) => `  ${detail.field}: ${detail.message}`)
    : []
  return [message, ...lines].join('\n')
}
