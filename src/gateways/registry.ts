// The gateways that a payment can go through. An installation has accounts of its own, which serve every merchant; a
// merchant may have an account of its own, which serves it instead. What was begun with an account is asked about with the
// same one, whatever was changed since.

import type { Currency } from '../core/currency.ts'
import type { RoutingRules } from '../core/routing-rules.ts'
import type { Cache } from '../kit/cache.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import type { Db } from '../kit/db.ts'
import { errorFields, type Log } from '../kit/log.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { type AccountRow, listAccountRows } from './account-queries.ts'
import {
  type ConnectedGateway,
  type ConnectionFactory,
  type ConnectionFactoryOptions,
  createConnectionFactory,
} from './connections.ts'
import type { Credentials } from './credentials.ts'
import { DEFAULT_ROUTES, type Route } from './default-routes.ts'
import type { GatewayDefinition } from './definition.ts'
import type { Channel, Gateway } from './gateway.ts'
import { type Health, orderCandidates, type Routing } from './routing.ts'

/** A gateway that is ready for something new, and whose account that is; null is the installation's. */
export interface AccountGateway {
  gateway: Gateway
  /** As people know it. */
  title: string
  accountId: string | null
  /** As this process sees it. */
  health(): Health
}

export interface Candidate extends AccountGateway {
  channels: readonly Channel[]
}

export interface SupportedGateway {
  definition: GatewayDefinition
  /** Whether the installation has an account of its own there. */
  isConfigured: boolean
  baseUrl: string
}

export type CredentialCheck = 'works' | 'refused' | 'unreachable' | 'unchecked'

/** What is to be collected. A null country is one that the payment did not name. */
export interface RoutingCriteria {
  currency: Currency
  country: string | null
  amountMinor: bigint
  /** What a split of the merchant's payments is drawn by: the same for every try of a payment. */
  key: string
}

/** A null amount is any that the rails take; without a key no split is drawn. */
type ExplainCriteria = Omit<RoutingCriteria, 'amountMinor' | 'key'> & {
  amountMinor: bigint | null
  key: string | null
}

export interface Gateways {
  /** The gateway through which something was begun, with the very account that it was begun with. */
  get(merchantId: string, name: string, accountId: string | null): Promise<Gateway>
  /** The same; undefined when its credentials were taken away from the installation. */
  find(merchantId: string, name: string, accountId: string | null): Promise<Gateway | undefined>
  /** Who can collect this for the merchant, and how, in the order in which to try. */
  candidates(merchantId: string, criteria: RoutingCriteria): Promise<Candidate[]>
  /** The same with reasons, also for those that are left out. */
  explain(merchantId: string, criteria: ExplainCriteria): Promise<Routing>
  /** The table of who collects what where, before anything of a merchant is known. */
  readonly routes: readonly Route[]
  /** Every gateway that serves the merchant. */
  listForMerchant(merchantId: string): Promise<AccountGateway[]>
  /**
   * Who may ring at a webhook address: the installation's account, or with a merchant those of this merchant, also the
   * ones that were revoked lately. None for an address that is not there.
   */
  findWebhookGateways(
    name: string,
    merchantId: string | null,
  ): Promise<Pick<AccountGateway, 'gateway' | 'accountId'>[]>
  /** The accounts of the merchant have changed in this process. */
  invalidate(merchantId: string): void
  /** Every gateway that can be configured, with what the installation itself gives it. */
  readonly supported: readonly SupportedGateway[]
  /** Tries credentials with a call that changes nothing; `unchecked` where the gateway has none. */
  checkCredentials(name: string, credentials: Credentials): Promise<CredentialCheck>
  close(): Promise<void>
}

export interface GatewaysApp {
  db: Db
  clock: Clock
  vault: Vault
  log: Log
  /** What the operator decided about the order for a merchant; another slice keeps it. */
  routingRules(merchantId: string): Promise<RoutingRules>
}

/** A gateway that is another one for each merchant, because what it collects is the merchant's own affair. */
export interface PerMerchantGateway {
  name: string
  title: string
  /** Without rails while the merchant has nothing to collect with. */
  forMerchant(merchantId: string): Promise<Gateway>
}

export interface GatewaysOptions extends ConnectionFactoryOptions {
  /** Open already and for everybody: the sandbox. They are tried last. */
  builtIn: readonly Gateway[]
  /** Each merchant's own; tried after all others. */
  perMerchant?: readonly PerMerchantGateway[]
  /** Keeps the accounts of merchants in use at hand until then. */
  refreshUntil?: AbortSignal
}

export function createGateways(app: GatewaysApp, options: GatewaysOptions): Gateways {
  const connections = createConnectionFactory(app, options)
  const accounts = createTenantCache({
    clock: app.clock,
    loadMany: (merchantIds) => listAccountRows(app.db, merchantIds),
    refreshUntil: options.refreshUntil,
  })
  return createRegistry(app, options.builtIn, connections, accounts, options.perMerchant)
}

/** Gateways that are open already, the same for every merchant: for tests and simulations. */
export function fixedGateways(list: readonly Gateway[]): Gateways {
  const connections: ConnectionFactory = {
    definitions: [],
    instanceGateways: [],
    baseUrlOf: () => '',
    connectAccount: () => undefined,
    checkCredentials: () => Promise.resolve('unchecked'),
    close: () => Promise.resolve(),
  }
  const accounts = { get: () => Promise.resolve([]), invalidate: () => undefined, size: 0 }
  const log = { write: () => undefined }
  return createRegistry({ log, routingRules: () => Promise.resolve([]) }, list, connections, accounts)
}

function createRegistry(
  { log, routingRules }: Pick<GatewaysApp, 'log' | 'routingRules'>,
  builtIn: readonly Gateway[],
  connections: ConnectionFactory,
  accounts: Cache<AccountRow[]>,
  perMerchant: readonly PerMerchantGateway[] = [],
): Gateways {
  const instanceGateways = new Map<string, AccountGateway>()
  for (const opened of [...connections.instanceGateways, ...builtIn.map(withoutCircuitBreaker)]) {
    const { name } = opened.gateway
    if (instanceGateways.has(name)) throw new Error(`two gateways are called ${name}`)
    instanceGateways.set(name, { ...opened, accountId: null })
  }

  const names = [...connections.definitions.map(({ name }) => name), ...builtIn.map(({ name }) => name)]
  const connectAccount = (row: AccountRow): AccountGateway | undefined => {
    try {
      const opened = connections.connectAccount(row)
      return opened && { ...opened, accountId: row.id }
    } catch (error) {
      // What one merchant's account cannot be opened with (a key that left the keyring) must not stop the others.
      const { merchantId, gateway } = row
      log.write('gateway.account_unusable', { merchantId, gateway, ...errorFields(error) })
      return undefined
    }
  }

  const listForMerchant = async (merchantId: string): Promise<AccountGateway[]> => {
    const live = (await accounts.get(merchantId)).filter(({ revokedAt }) => revokedAt === null)
    return names
      .map((name) => {
        const account = live.find(({ gateway }) => gateway === name)
        // An own account that does not open is not replaced by the installation's: the money would go elsewhere.
        return account ? connectAccount(account) : instanceGateways.get(name)
      })
      .filter((one) => one !== undefined)
      .concat(await connectPerMerchant(perMerchant, merchantId))
  }

  const fallbackNames = new Set([...builtIn, ...perMerchant].map(({ name }) => name))
  const explain = async (opened: readonly AccountGateway[], merchantId: string, criteria: ExplainCriteria) =>
    orderCandidates({
      ...criteria,
      routes: DEFAULT_ROUTES,
      available: opened.map(({ gateway: { name, rails }, health }) => ({
        name,
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
      throw new Error(`${name} is not configured here with the account ${accountId ?? 'of the installation'}`)
    },
    async candidates(merchantId, criteria) {
      const opened = await listForMerchant(merchantId)
      const { candidates } = await explain(opened, merchantId, criteria)
      return candidates.flatMap(({ name, channels }) =>
        opened.filter(({ gateway }) => gateway.name === name).map((one) => ({ ...one, channels })),
      )
    },
    explain: async (merchantId, criteria) => explain(await listForMerchant(merchantId), merchantId, criteria),
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
    invalidate: (merchantId) => accounts.invalidate(merchantId),
    supported: connections.definitions.map((definition) => ({
      definition,
      isConfigured: instanceGateways.has(definition.name),
      baseUrl: connections.baseUrlOf(definition),
    })),
    checkCredentials: (name, credentials) => connections.checkCredentials(name, credentials),
    close: () => connections.close(),
  }
}

// Not guarded: whatever trouble the sandbox makes, somebody who tests has asked for it.
const withoutCircuitBreaker = (gateway: Gateway): ConnectedGateway => ({
  gateway,
  title: capitalize(gateway.name),
  health: () => 'up',
})

async function connectPerMerchant(
  perMerchant: readonly PerMerchantGateway[],
  merchantId: string,
): Promise<AccountGateway[]> {
  const opened = await Promise.all(
    perMerchant.map(async ({ title, forMerchant }) => ({
      ...withoutCircuitBreaker(await forMerchant(merchantId)),
      title,
      accountId: null,
    })),
  )
  return opened.filter(({ gateway: { rails } }) => rails.length > 0)
}

function capitalize(name: string): string {
  return name.replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

/** An account that was made a moment ago by another process is not remembered here yet. */
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

// Whoever replaces accounts more often than this while payments are under way is helped by the resolver alone.
const MAX_REVOKED_ACCOUNTS = 3

/** The live account and the latest of those that were revoked: their payments may still ring. */
function webhookAccounts(rows: readonly AccountRow[]): AccountRow[] {
  const live = rows.filter(({ revokedAt }) => revokedAt === null)
  const revoked = rows.filter(({ revokedAt }) => revokedAt !== null)
  return [...live, ...revoked.slice(0, MAX_REVOKED_ACCOUNTS)]
}
