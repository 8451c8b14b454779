// The gateways that a payment can use. The instance has accounts that serve every merchant; a merchant's own account
// serves it instead. An attempt is always checked with the account that started it, even if the configuration has
// changed since.

import { type Currency, usesCurrency } from '../core/currency.ts'
import type { RoutingRules } from '../core/routing-rules.ts'
import type { TokenOwner } from '../gateway-tokens/request.ts'
import type { TokenSource } from '../gateway-tokens/token.ts'
import type { Cache } from '../kit/cache.ts'
import { type CellMap, loadByCell } from '../kit/cells/cells.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { type CallbackPaths, createCallbackPaths } from '../secrets/callback-paths.ts'
import type { AccountDefinition } from './account-definition.ts'
import { type AccountRow, listAccountRows } from './account-queries.ts'
import {
  type AccountOwner,
  type ConnectedGateway,
  type ConnectionFactory,
  type ConnectionFactoryOptions,
  createConnectionFactory,
} from './connections.ts'
import type { Credentials } from './credentials.ts'
import type { Channel, Gateway, Rail } from './gateway.ts'
import { onlyCountryOf, type Way } from './rails.ts'
import { DEFAULT_ROUTES, type Route } from './routing/default-routes.ts'
import { firstCandidateOf, orderCandidates, type Routing, type RoutingInput } from './routing/routing.ts'

/** A gateway that can start new payments, with its account id; null is the instance's account. */
export interface AccountGateway extends ConnectedGateway {
  accountId: string | null
}

export interface Candidate extends AccountGateway {
  /** How it can collect the payment. */
  ways: readonly Way[]
  channels: readonly Channel[]
}

export interface SupportedGateway {
  definition: AccountDefinition
  /** Whether the instance has this account. */
  isConfigured: boolean
  baseUrl: string
}

export type CredentialCheck = 'works' | 'refused' | 'unreachable' | 'unchecked'

/** What is to be collected. A null country: the payment names none. */
export interface RoutingCriteria {
  currency: Currency
  country: string | null
  amountMinor: bigint
  /** The key of the weighted split: the same for every retry of a payment. */
  key: string
}

/** A null amount is any that the rails take; without a key no split is applied. */
type ExplainCriteria = Omit<RoutingCriteria, 'amountMinor' | 'key'> & {
  amountMinor: bigint | null
  key: string | null
}

export interface Gateways {
  /** The gateway that started an attempt, with the account that started it. Throws if it is missing. */
  get(merchantId: string, name: string, accountId: string | null): Promise<Gateway>
  /** Like `get`; undefined if the instance no longer has credentials for it. */
  find(merchantId: string, name: string, accountId: string | null): Promise<Gateway | undefined>
  /** The gateways that can collect this for the merchant, with their channels, in the order to try. */
  candidates(merchantId: string, criteria: RoutingCriteria): Promise<Candidate[]>
  /** The name of the first of them; undefined if no gateway can collect it. */
  firstCandidate(merchantId: string, criteria: RoutingCriteria): Promise<string | undefined>
  /** Like `candidates`, with reasons, and with the gateways that are left out. */
  explain(merchantId: string, criteria: ExplainCriteria): Promise<Routing>
  /**
   * The country of a payment that names none: the merchant's own setting, or the only country of an account that
   * collects in one country alone. Null if neither says it, or accounts differ.
   */
  homeCountry(merchantId: string, currency: Currency): Promise<string | null>
  /** The default routing table, before any rule of a merchant. */
  readonly routes: readonly Route[]
  /** Every gateway that serves the merchant. */
  listForMerchant(merchantId: string): Promise<AccountGateway[]>
  /**
   * The gateways whose webhooks a URL accepts: the instance's account, or those of the merchant in the path, including
   * recently revoked ones. Empty for an unknown URL.
   */
  findWebhookGateways(
    name: string,
    merchantId: string | null,
  ): Promise<Pick<AccountGateway, 'gateway' | 'accountId'>[]>
  /** Verifies the secret paths that connections hand out. */
  readonly callbackPaths: CallbackPaths
  /** Invalidates the cached accounts of the merchant in this process. */
  invalidate(merchantId: string): void
  /** Every gateway that can be configured, and every account of the instance with a label, with its configuration. */
  readonly supported: readonly SupportedGateway[]
  /** The definition of an account, with or without a label; undefined if no gateway has such an account. */
  findDefinition(name: string): AccountDefinition | undefined
  /** Checks credentials with a call without effect; `unchecked` if the gateway has no such call. */
  checkCredentials(name: string, credentials: Credentials, owner: AccountOwner): Promise<CredentialCheck>
  close(): Promise<void>
}

export interface GatewaysApp {
  db: Db
  cells?: CellMap
  clock: Clock
  vault: Vault
  callbackPaths: CallbackPaths
  log: Log
  /** Opens the access tokens of an account. */
  openTokens(owner: TokenOwner): TokenSource
  /** The operator's routing rules for a merchant; another slice stores them. */
  routingRules(merchantId: string): Promise<RoutingRules>
  /** Where the merchant's payments that name no country are collected, if it is set; another slice stores it. */
  merchantCountry?(merchantId: string): Promise<string | null>
}

/** A gateway that differs for each merchant, because it collects to the merchant's own accounts. */
export interface PerMerchantGateway {
  name: string
  title: string
  /** Without rails if the merchant has no account to collect with. */
  forMerchant(merchantId: string): Promise<Gateway>
}

export interface GatewaysOptions extends ConnectionFactoryOptions {
  /** Always open, for every merchant: the sandbox. Tried last. */
  builtIn: readonly Gateway[]
  /** The rails of built-in gateways for a merchant whose other gateways have these; absent: their own. */
  builtInRails?(others: readonly Rail[]): readonly Rail[]
  /** Tried after all others. */
  perMerchant?: readonly PerMerchantGateway[]
  /** Refreshes the cached accounts of active merchants until this signal. */
  refreshUntil?: AbortSignal
}

export function createGateways(app: GatewaysApp, options: GatewaysOptions): Gateways {
  const connections = createConnectionFactory(app, options)
  const accounts = createTenantCache({
    clock: app.clock,
    loadMany: (merchantIds) => loadByCell(app.cells, merchantIds, (some) => listAccountRows(app.db, some)),
    refreshUntil: options.refreshUntil,
  })
  return createRegistry(app, options, connections, accounts)
}

/** A fixed list of open gateways, the same for every merchant: for tests and simulations. */
export function fixedGateways(list: readonly Gateway[]): Gateways {
  const connections: ConnectionFactory = {
    definitions: [],
    findDefinition: () => undefined,
    configuredNames: [],
    instanceGateways: [],
    baseUrlOf: () => '',
    connectAccount: () => undefined,
    checkCredentials: () => Promise.resolve('unchecked'),
    close: () => Promise.resolve(),
  }
  const accounts = { get: () => Promise.resolve([]), invalidate: () => undefined, size: 0 }
  const log = { write: () => undefined }
  const callbackPaths = createCallbackPaths([new Uint8Array(32)])
  const app = { log, callbackPaths, routingRules: () => Promise.resolve([]) }
  return createRegistry(app, { builtIn: list }, connections, accounts)
}

function createRegistry(
  {
    log,
    callbackPaths,
    routingRules,
    merchantCountry,
  }: Pick<GatewaysApp, 'log' | 'callbackPaths' | 'routingRules' | 'merchantCountry'>,
  {
    builtIn,
    builtInRails,
    perMerchant = [],
  }: Pick<GatewaysOptions, 'builtIn' | 'builtInRails' | 'perMerchant'>,
  connections: ConnectionFactory,
  accounts: Cache<AccountRow[]>,
): Gateways {
  const instanceGateways = new Map<string, AccountGateway>()
  for (const opened of [...connections.instanceGateways, ...builtIn.map(withoutCircuitBreaker)]) {
    const { name } = opened.gateway
    if (instanceGateways.has(name)) throw new Error(`two gateways are named ${name}`)
    instanceGateways.set(name, { ...opened, accountId: null })
  }

  const names = [...connections.definitions.map(({ name }) => name), ...builtIn.map(({ name }) => name)]
  const connectAccount = (row: AccountRow): AccountGateway | undefined => {
    try {
      const opened = connections.connectAccount(row)
      return opened && { ...opened, accountId: row.id }
    } catch (error) {
      // An account that cannot be decrypted (its key left the keyring) must not affect the others.
      const { merchantId, gateway } = row
      log.write('gateway.account_unusable', { merchantId, gateway, ...errorFields(error) })
      return undefined
    }
  }

  const instanceAccounts = Map.groupBy(instanceGateways.values(), ({ definitionName }) => definitionName)
  const openAccounts = (rows: readonly AccountRow[]): readonly AccountGateway[] => {
    const live = rows.filter(({ revokedAt }) => revokedAt === null)
    const opened = names
      .flatMap((name) => {
        // If a merchant has an account of its own at a gateway, those of the instance there do not serve it, even if its
        // own cannot be opened: the money would go to the wrong account.
        const own = live.filter(({ gateway }) => connections.findDefinition(gateway)?.gateway === name)
        return own.length > 0 ? own.toSorted(byName).map(connectAccount) : (instanceAccounts.get(name) ?? [])
      })
      .filter((one) => one !== undefined)
    return narrowBuiltIn(opened)
  }
  // The cache returns the same rows until it reads them again, and every payment asks twice.
  const openedOf = new WeakMap<readonly AccountRow[], readonly AccountGateway[]>()
  const listForMerchant = async (merchantId: string): Promise<AccountGateway[]> => {
    const rows = await accounts.get(merchantId)
    const opened = openedOf.get(rows) ?? openAccounts(rows)
    openedOf.set(rows, opened)
    return [...opened, ...(await connectPerMerchant(perMerchant, merchantId))]
  }

  const builtInNames = new Set(builtIn.map(({ name }) => name))
  const narrowBuiltIn = (opened: readonly AccountGateway[]): readonly AccountGateway[] => {
    if (!builtInRails) return opened
    const isBuiltIn = ({ gateway }: AccountGateway) => builtInNames.has(gateway.name)
    const rails = builtInRails(opened.flatMap((one) => (isBuiltIn(one) ? [] : one.gateway.rails)))
    return opened.map((one) => (isBuiltIn(one) ? { ...one, gateway: { ...one.gateway, rails } } : one))
  }

  const fallbackNames = new Set([...builtIn, ...perMerchant].map(({ name }) => name))
  const routingInput = async (
    opened: readonly AccountGateway[],
    merchantId: string,
    criteria: ExplainCriteria,
  ): Promise<RoutingInput> => ({
    ...criteria,
    routes: DEFAULT_ROUTES,
    available: opened.map(({ gateway: { name, rails }, definitionName, health }) => ({
      name,
      gateway: definitionName,
      rails,
      health: health(),
      isFallback: fallbackNames.has(name),
    })),
    rules: await routingRules(merchantId),
    key: criteria.key === null ? null : `${merchantId}:${criteria.key}`,
  })

  const find: Gateways['find'] = async (merchantId, name, accountId) => {
    if (accountId === null)
      return (
        instanceGateways.get(name)?.gateway ??
        perMerchant.find((one) => one.name === name)?.forMerchant(merchantId)
      )
    const row = await requireAccount(accounts, merchantId, accountId)
    return row.gateway === name ? connections.connectAccount(row)?.gateway : undefined
  }

  return {
    listForMerchant,
    find,
    async get(merchantId, name, accountId) {
      const gateway = await find(merchantId, name, accountId)
      if (gateway) return gateway
      throw new Error(`${name} is not configured here with the account ${accountId ?? 'of the instance'}`)
    },
    async candidates(merchantId, criteria) {
      const opened = await listForMerchant(merchantId)
      const { candidates } = orderCandidates(await routingInput(opened, merchantId, criteria))
      return candidates.flatMap(({ name, ways }) =>
        opened
          .filter(({ gateway }) => gateway.name === name)
          .map((one) => ({ ...one, ways, channels: ways.map(({ channel }) => channel) })),
      )
    },
    firstCandidate: async (merchantId, criteria) =>
      firstCandidateOf(await routingInput(await listForMerchant(merchantId), merchantId, criteria)),
    explain: async (merchantId, criteria) =>
      orderCandidates(await routingInput(await listForMerchant(merchantId), merchantId, criteria)),
    async homeCountry(merchantId, currency) {
      const uses = (country: string) => usesCurrency(country, currency)
      const chosen = (await merchantCountry?.(merchantId)) ?? null
      if (chosen !== null && uses(chosen)) return chosen
      const served = (await listForMerchant(merchantId)).filter(
        ({ gateway }) => !fallbackNames.has(gateway.name),
      )
      const own = served.filter(({ accountId }) => accountId !== null)
      // An account that collects no such currency says nothing about its payers: M-Pesa in Kenya, for a payment in USD.
      const homes = (own.length > 0 ? own : served).flatMap(({ gateway: { rails } }) =>
        rails.some((rail) => rail.currency === currency) ? (onlyCountryOf(rails) ?? []) : [],
      )
      const [home, ...others] = new Set(homes.filter(uses))
      return others.length === 0 ? (home ?? null) : null
    },
    routes: DEFAULT_ROUTES,
    async findWebhookGateways(name, merchantId) {
      if (merchantId === null) {
        const found = instanceGateways.get(name)
        return found ? [found] : []
      }
      const rows = (await accounts.get(merchantId)).filter(({ gateway }) => gateway === name)
      return webhookAccounts(rows)
        .map(connectAccount)
        .filter((one) => one !== undefined)
    },
    callbackPaths,
    invalidate: (merchantId) => accounts.invalidate(merchantId),
    supported: connections.configuredNames
      .map(connections.findDefinition)
      .filter((definition) => definition !== undefined)
      .map((definition) => ({
        definition,
        isConfigured: instanceGateways.has(definition.name),
        baseUrl: connections.baseUrlOf(definition),
      })),
    findDefinition: connections.findDefinition,
    checkCredentials: connections.checkCredentials,
    close: () => connections.close(),
  }
}

// The account without a label is before those with one.
const byName = (one: AccountRow, other: AccountRow) => (one.gateway < other.gateway ? -1 : 1)

// No circuit breaker: the faults of the sandbox are requested by tests.
const withoutCircuitBreaker = (gateway: Gateway): ConnectedGateway => ({
  gateway,
  definitionName: gateway.name,
  title: capitalize(gateway.name),
  health: alwaysUp,
})

const alwaysUp = () => 'up' as const

async function connectPerMerchant(
  perMerchant: readonly PerMerchantGateway[],
  merchantId: string,
): Promise<AccountGateway[]> {
  const opened = await Promise.all(
    perMerchant.map(async ({ name, title, forMerchant }) => ({
      definitionName: name,
      title,
      health: alwaysUp,
      accountId: null,
      gateway: await forMerchant(merchantId),
    })),
  )
  return opened.filter(({ gateway: { rails } }) => rails.length > 0)
}

function capitalize(name: string): string {
  return name.replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

/** The cache may lack an account that another process has just created, so a miss reads the database. */
async function requireAccount(
  accounts: Cache<AccountRow[]>,
  merchantId: string,
  accountId: string,
): Promise<AccountRow> {
  const find = async () => (await accounts.get(merchantId)).find(({ id }) => id === accountId)
  const known = await find()
  if (known) return known
  accounts.invalidate(merchantId)
  const found = await find()
  if (!found) throw new Error(`the merchant ${merchantId} has no gateway account ${accountId}`)
  return found
}

// If accounts are replaced more often while payments are in progress, only the resolver completes those payments.
const MAX_REVOKED_ACCOUNTS = 3

/** The live account and the latest revoked ones: webhooks for their payments may still arrive. */
function webhookAccounts(rows: readonly AccountRow[]): AccountRow[] {
  const live = rows.filter(({ revokedAt }) => revokedAt === null)
  const revoked = rows.filter(({ revokedAt }) => revokedAt !== null)
  return [...live, ...revoked.slice(0, MAX_REVOKED_ACCOUNTS)]
}
