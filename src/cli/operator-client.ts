// A client of the operators' API. On the machine of the service it reads the token from the data folder.

import type { ClientConfig } from '../config.ts'
import type { HttpClient } from '../kit/http/http-client.ts'
import { readAdminToken } from '../secrets/admin-token.ts'

import { commandErrorOf, connectService, isLocal, type Method } from './service-client.ts'
import { CommandError, type Envelope } from './terminal.ts'

export interface OperatorClient {
  readonly url: string
  /** Returns the envelope of a success; throws a CommandError with the service's reason otherwise. */
  call(method: Method, path: string, body?: object, timeoutMs?: number): Promise<Envelope>
  /** Whether the service is ready; needs no token. */
  isReady(): Promise<{ ready: boolean; reasons: string[] }>
}

export async function connectOperator(config: ClientConfig, http: HttpClient): Promise<OperatorClient> {
  const service = await connectService(config, http)
  const { url } = service
  return {
    url,
    async call(method, path, body, timeoutMs) {
      const headers = { authorization: `Bearer ${await findToken(config, url)}` }
      const { status, envelope } = await service.callForEnvelope({ method, path, headers, body, timeoutMs })
      if (envelope.status === 'success') return envelope
      throw status === 401 ? wrongToken(config, url) : commandErrorOf(envelope)
    },
    async isReady() {
      const { status, body } = await service.call({ method: 'GET', path: '/readyz' })
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

async function findToken(config: ClientConfig, url: string): Promise<string> {
  const token = config.adminToken ?? (isLocal(url) ? await readToken(config.dataDir) : undefined)
  if (token) return token
  throw new CommandError(
    'no_admin_token',
    isLocal(url)
      ? `There is no operator token in ${config.dataDir}: no service was started there. Start it with "npm start", set COWRY_DATA_DIR to the data folder of the service, or set COWRY_URL and COWRY_ADMIN_TOKEN.`
      : `Set COWRY_ADMIN_TOKEN to the operator token of ${url}.`,
  )
}
