// A client of the merchants' API. On the machine of the service it reads the key of the demo merchant from the data
// folder.

import type { ClientConfig } from '../config.ts'
import type { HttpClient } from '../kit/http/http-client.ts'
import { readDemoKeyFile } from '../secrets/demo-key.ts'

import { commandErrorOf, connectService, isLocal, type Method, type ServiceClient } from './service-client.ts'
import { CommandError, type Envelope } from './terminal.ts'

export interface MerchantClient extends Pick<ServiceClient, 'url' | 'postForm'> {
  /** The part of the key that may be shown. */
  readonly prefix: string
  /** Returns the envelope of a success; throws a CommandError with the service's reason otherwise. */
  call(method: Method, path: string, body?: object): Promise<Envelope>
  /** Posts JSON text unchanged, and returns any response. */
  postText(
    path: string,
    text: string,
    headers: Record<string, string>,
    timeoutMs: number,
  ): Promise<{ status: number; text: string }>
}

export interface KeyOption {
  merchantKey?: string
}

export interface KeySource extends KeyOption {
  /** Instead of the address in the settings. */
  url?: string
  /** Said if there is no key, by a command that production does not have. */
  stagingOnly?: string
}

export async function connectMerchant(
  config: ClientConfig,
  http: HttpClient,
  { merchantKey, stagingOnly, url: givenUrl }: KeySource,
): Promise<MerchantClient> {
  const service = await connectService({ ...config, url: givenUrl ?? config.url }, http)
  const { url, postForm } = service
  const apiKey = merchantKey ?? config.apiKey ?? (await findDemoKey(config, url, stagingOnly))
  // A header cannot carry other characters, and no key contains them.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw invalidKey(url)
  return {
    url,
    postForm,
    prefix: /^cowry_(?:test|live)_[0-9A-Za-z]{12}_/.exec(apiKey)?.[0].concat('…') ?? 'a key of unknown form',
    async call(method, path, body) {
      const headers = { 'x-api-key': apiKey }
      const { status, envelope } = await service.callForEnvelope({ method, path, headers, body })
      if (envelope.status === 'success') return envelope
      throw status === 401 ? invalidKey(url, envelope) : commandErrorOf(envelope)
    },
    postText: (path, text, headers, timeoutMs) =>
      service.postText(path, text, { ...headers, 'x-api-key': apiKey }, timeoutMs),
  }
}

function invalidKey(url: string, envelope?: Envelope): CommandError {
  const reason = envelope?.message ?? 'This is not an API key.'
  const advice = `Use a key of the service at ${url}: --merchant-key, COWRY_API_KEY, or the demo key in the data folder.`
  return new CommandError('wrong_merchant_key', `${reason} ${advice}`, envelope)
}

async function findDemoKey(config: ClientConfig, url: string, stagingOnly?: string): Promise<string> {
  const key = isLocal(url) ? await readDemoKeyFile(config.dataDir).catch(() => undefined) : undefined
  if (key) return key
  const advice = isLocal(url)
    ? `There is no readable demo key in ${config.dataDir}. Start a staging service there with "npm start", set COWRY_DATA_DIR to its data folder, or set a key with --merchant-key or COWRY_API_KEY.`
    : `Set a key of ${url} with --merchant-key or COWRY_API_KEY.`
  throw new CommandError('no_merchant_key', [stagingOnly, advice].filter(Boolean).join(' '))
}
