// The connection factory: opens gateways with credentials. Each account has its own HTTP client and circuit breaker, so
// that a provider that is slow for one account does not slow the others. A connection is kept until its credentials
// change.

import type { Mode } from '../core/merchant.ts'
import type { TokenOwner } from '../gateway-tokens/request.ts'
import type { TokenSource } from '../gateway-tokens/token.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import { createHttpClient, type HttpClient } from '../kit/http/http-client.ts'
import { honorRetryAfter } from '../kit/http/retry-after.ts'
import type { CallbackAccount, CallbackPaths } from '../secrets/callback-paths.ts'
import { type AccountDefinition, findAccountDefinition } from './account-definition.ts'
import type { AccountRow } from './account-queries.ts'
import { withCircuitBreaker } from './circuit-breaker.ts'
import { type Credentials, openCredentials } from './credentials.ts'
import type { GatewayDefinition } from './definition.ts'
import type { Gateway } from './gateway.ts'
import type { MeasureGateway } from './measure.ts'
import type { Health } from './routing/routing.ts'
import { createTokenCalls } from './token-calls.ts'

export interface ConnectedGateway {
  gateway: Gateway
  /** The gateway's own name, without the label of the account. */
  definitionName: string
  title: string
  health(): Health
}

/** The merchant and the merchant's account; both null for an account of the instance. */
export type AccountOwner = Pick<CallbackAccount, 'merchantId' | 'accountId'>

export interface ConnectionFactory {
  readonly definitions: readonly GatewayDefinition[]
  /** The definition of an account, with or without a label; undefined if no gateway has such an account. */
  findDefinition(name: string): AccountDefinition | undefined
  /** The names of the accounts that the instance configures: every gateway, and each label. In the order to try. */
  readonly configuredNames: readonly string[]
  /** The accounts of the instance itself, in the order of their definitions and labels. */
  readonly instanceGateways: readonly ConnectedGateway[]
  /** Undefined for a gateway that this version does not support. Throws if the credentials cannot be decrypted. */
  connectAccount(account: AccountRow): ConnectedGateway | undefined
  baseUrlOf(definition: AccountDefinition): string
  checkCredentials(
    name: string,
    credentials: Credentials,
    owner: AccountOwner,
  ): Promise<'works' | 'refused' | 'unreachable' | 'unchecked'>
  close(): Promise<void>
}

interface ConnectionFactoryApp {
  clock: Clock
  vault: Vault
  callbackPaths: CallbackPaths
  /** Opens the access tokens of an account. */
  openTokens(owner: TokenOwner): TokenSource
}

/** What the instance configures for a gateway: optional credentials, and the provider's URL. */
export interface GatewayConfig {
  credentials: Credentials | null
  baseUrl: string
}

export interface ConnectionFactoryOptions {
  definitions: readonly GatewayDefinition[]
  /** By the name of the account, with or without a label. */
  configs: ReadonlyMap<string, GatewayConfig>
  mode: Mode
  timeoutMs: number
  publicUrl(): string
  /** Counts and times the calls of a gateway; absent: not measured. */
  measure?: MeasureGateway
  /** Wraps every HTTP client that is created, for example with tracing. */
  wrap?: (http: HttpClient) => HttpClient
}

// An open account without traffic holds no connection and uses a few kilobytes.
const MAX_CONNECTIONS = 2_000

// The HTTP client's own timeout must fire first, because it knows whether a byte was sent. Together with the queue
// timeout this stays below the two seconds after which another process may take over an attempt.
const TIMEOUT_SLACK_MS = 1_000

interface ConnectedAccount extends ConnectedGateway {
  sealed: string
  http: HttpClient
}

export function createConnectionFactory(
  app: ConnectionFactoryApp,
  options: ConnectionFactoryOptions,
): ConnectionFactory {
  const clients = new Set<HttpClient>()
  const newClient = () => {
    const bare = createHttpClient({ totalTimeoutMs: options.timeoutMs })
    const http = honorRetryAfter(options.wrap?.(bare) ?? bare, app.clock)
    clients.add(http)
    return http
  }
  const findDefinition = (name: string) => findAccountDefinition(options.definitions, name)
  const accounts = new Map<string, ConnectedAccount>()

  const configuredNames = namesInOrder(options, findDefinition)

  const baseUrlOf = ({ name, gateway, baseUrl }: AccountDefinition) =>
    (options.configs.get(name) ?? options.configs.get(gateway))?.baseUrl ?? baseUrl[options.mode]
  const connect = (
    definition: AccountDefinition,
    credentials: Credentials,
    http: HttpClient,
    ids: AccountOwner = INSTANCE,
  ): ConnectedGateway => {
    const account = { gateway: definition.name, ...ids }
    const baseUrl = baseUrlOf(definition)
    const { gateway, accountId } = account
    const tokenOwner = { gateway, baseUrl, accountId, timeoutMs: options.timeoutMs }
    const opened = definition.open({
      credentials,
      baseUrl,
      mode: options.mode,
      http,
      tokens: createTokenCalls(app.openTokens(tokenOwner), {
        clock: app.clock,
        timeoutMs: options.timeoutMs,
      }),
      clock: app.clock,
      publicUrl: options.publicUrl,
      webhookPath: webhookPathOf(account.gateway, account.merchantId),
      callbackUrl: (subject) => `${options.publicUrl()}${app.callbackPaths.pathOf(account, subject)}`,
    })
    const breaker = withCircuitBreaker(opened, {
      clock: app.clock,
      timeoutMs: options.timeoutMs + TIMEOUT_SLACK_MS,
    })
    const measured = options.measure?.(breaker.gateway) ?? breaker.gateway
    return { title: definition.title, definitionName: definition.gateway, ...breaker, gateway: measured }
  }

  return {
    definitions: options.definitions,
    findDefinition,
    baseUrlOf,
    configuredNames,
    instanceGateways: configuredNames.flatMap((name) => {
      const definition = findDefinition(name)
      const credentials = options.configs.get(name)?.credentials
      return definition && credentials ? [connect(definition, credentials, newClient())] : []
    }),
    connectAccount(row) {
      const known = accounts.get(row.id)
      if (known?.sealed === row.sealed) return known
      const definition = findDefinition(row.gateway)
      if (!definition) return undefined
      const credentials = openCredentials(app.vault, row)
      const http = known?.http ?? newClient()
      const opened: ConnectedAccount = {
        ...connect(definition, credentials, http, { merchantId: row.merchantId, accountId: row.id }),
        sealed: row.sealed,
        http,
      }
      accounts.delete(row.id)
      accounts.set(row.id, opened)
      evictOldest(accounts, clients)
      return opened
    },
    async checkCredentials(name, credentials, owner) {
      const definition = findDefinition(name)
      if (!definition) throw new Error(`there is no gateway named ${name}`)
      const http = createHttpClient({ totalTimeoutMs: options.timeoutMs })
      try {
        return (await connect(definition, credentials, http, owner).gateway.probe?.()) ?? 'unchecked'
      } finally {
        await http.close()
      }
    },
    async close() {
      await Promise.all([...clients].map((http) => http.close()))
    },
  }
}

const INSTANCE: AccountOwner = { merchantId: null, accountId: null }

/** Each gateway, and after it its accounts in the order of their labels. */
function namesInOrder(
  { definitions, configs }: ConnectionFactoryOptions,
  findDefinition: ConnectionFactory['findDefinition'],
): string[] {
  const labelled = [...configs.keys()].toSorted()
  return definitions.flatMap(({ name }) => [
    name,
    ...labelled.filter((one) => one !== name && findDefinition(one)?.gateway === name),
  ])
}

/** The webhook path of an account: the instance's, or a merchant's own. */
export function webhookPathOf(gateway: string, merchantId: string | null = null): string {
  return merchantId === null ? `/hooks/${gateway}` : `/hooks/${gateway}/${merchantId}`
}

/** Does not close the client, because a request may be about to use it. Idle connections close by themselves. */
function evictOldest(accounts: Map<string, ConnectedAccount>, clients: Set<HttpClient>): void {
  const [oldest] = accounts
  if (!oldest || accounts.size <= MAX_CONNECTIONS) return
  const [id, { http }] = oldest
  accounts.delete(id)
  clients.delete(http)
}
