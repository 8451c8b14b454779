// The gateways that a payment can go through. An installation has accounts of its own, which serve every merchant; a
// merchant may have an account of its own, which serves it instead. What was begun with an account is asked about with the
// same one, whatever was changed since.

import type { Currency } from '../core/currency.ts'
import type { RoutingRules } from '../core/routing-rules.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import type { Db } from '../kit/db.ts'
import { errorFields, type Log } from '../kit/log.ts'
import type { Memory } from '../kit/memory.ts'
import { createMerchantMemory } from '../kit/merchant-memory.ts'
import { type AccountRow, listAccountRows } from './account-queries.ts'
import type { Credentials } from './credentials.ts'
import { DEFAULT_ROUTES, type Route } from './default-routes.ts'
import type { GatewayDefinition } from './definition.ts'
import type { Channel, Gateway } from './gateway.ts'
import { createOpener, type Opened, type Opener, type OpenerOptions } from './opener.ts'
import { type Health, orderCandidates, type Routing } from './routing.ts'

/** A gateway that is ready for something new, and whose account that is; null is the installation's. */
export interface OpenGateway {
  gateway: Gateway
  /** As people know it. */
  title: string
  accountId: string | null
  /** As this process sees it. */
  health(): Health
}

export interface Candidate extends OpenGateway {
  channels: readonly Channel[]
}

export interface KnownGateway {
  definition: GatewayDefinition
  /** Whether the installation has an account of its own there. */
  isInstalled: boolean
  baseUrl: string
}

export type Trial = 'works' | 'refused' | 'unreachable' | 'untried'

/** What is to be collected. A null country is one that the payment did not name. */
export interface Wanted {
  currency: Currency
  country: string | null
  amountMinor: bigint
  /** What a split of the merchant's payments is drawn by: the same for every try of a payment. */
  key: string
}

/** A null amount is any that the rails take; without a key no split is drawn. */
type Explained = Omit<Wanted, 'amountMinor' | 'key'> & { amountMinor: bigint | null; key: string | null }

export interface Gateways {
  /** The gateway through which something was begun, with the very account that it was begun with. */
  of(merchantId: string, name: string, accountId: string | null): Promise<Gateway>
  /** The same; undefined when its credentials were taken away from the installation. */
  find(merchantId: string, name: string, accountId: string | null): Promise<Gateway | undefined>
  /** Who can collect this for the merchant, and how, in the order in which to try. */
  candidates(merchantId: string, wanted: Wanted): Promise<Candidate[]>
  /** The same with reasons, also for those that are left out. */
  explain(merchantId: string, wanted: Explained): Promise<Routing>
  /** The table of who collects what where, before anything of a merchant is known. */
  readonly routes: readonly Route[]
  /** Every gateway that serves the merchant. */
  open(merchantId: string): Promise<OpenGateway[]>
  /**
   * Who may ring at a webhook address: the installation's account, or with a merchant those of this merchant, also the
   * ones that were revoked lately. None for an address that is not there.
   */
  listeners(name: string, merchantId: string | null): Promise<Pick<OpenGateway, 'gateway' | 'accountId'>[]>
  /** The accounts of the merchant have changed in this process. */
  forget(merchantId: string): void
  /** Every gateway that can be configured, with what the installation itself gives it. */
  readonly known: readonly KnownGateway[]
  /** Tries credentials with a call that changes nothing; `untried` where the gateway has none. */
  tryCredentials(name: string, credentials: Credentials): Promise<Trial>
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
export interface OwnGateway {
  name: string
  title: string
  /** Without rails while the merchant has nothing to collect with. */
  of(merchantId: string): Promise<Gateway>
}

export interface GatewaysOptions extends OpenerOptions {
  /** Open already and for everybody: the sandbox. They are tried last. */
  ready: readonly Gateway[]
  /** Each merchant's own; tried after all others. */
  own?: readonly OwnGateway[]
  /** Keeps the accounts of merchants in use at hand until then. */
  renewedUntil?: AbortSignal
}

export function createGateways(app: GatewaysApp, options: GatewaysOptions): Gateways {
  const opener = createOpener(app, options)
  const accounts = createMerchantMemory({
    clock: app.clock,
    readMany: (merchantIds) => listAccountRows(app.db, merchantIds),
    renewedUntil: options.renewedUntil,
  })
  return createRegistry(app, options.ready, opener, accounts, options.own)
}

/** Gateways that are open already, the same for every merchant: for tests and simulations. */
export function fixedGateways(list: readonly Gateway[]): Gateways {
  const opener: Opener = {
    definitions: [],
    installed: [],
    baseUrlOf: () => '',
    openAccount: () => undefined,
    tryCredentials: () => Promise.resolve('untried'),
    close: () => Promise.resolve(),
  }
  const accounts = { get: () => Promise.resolve([]), forget: () => undefined, size: 0 }
  const silent = () => undefined
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  return createRegistry({ log, routingRules: () => Promise.resolve([]) }, list, opener, accounts)
}

function createRegistry(
  { log, routingRules }: Pick<GatewaysApp, 'log' | 'routingRules'>,
  ready: readonly Gateway[],
  opener: Opener,
  accounts: Memory<AccountRow[]>,
  own: readonly OwnGateway[] = [],
): Gateways {
  const installed = new Map<string, OpenGateway>()
  for (const opened of [...opener.installed, ...ready.map(named)]) {
    const { name } = opened.gateway
    if (installed.has(name)) throw new Error(`two gateways are called ${name}`)
    installed.set(name, { ...opened, accountId: null })
  }

  const names = [...opener.definitions.map(({ name }) => name), ...ready.map(({ name }) => name)]
  const openAccount = (row: AccountRow): OpenGateway | undefined => {
    try {
      const opened = opener.openAccount(row)
      return opened && { ...opened, accountId: row.id }
    } catch (error) {
      // What one merchant's account cannot be opened with (a key that left the keyring) must not stop the others.
      const { merchantId, gateway } = row
      log.error('a gateway account cannot be opened', { merchantId, gateway, ...errorFields(error) })
      return undefined
    }
  }

  const open = async (merchantId: string): Promise<OpenGateway[]> => {
    const live = (await accounts.get(merchantId)).filter(({ revokedAt }) => revokedAt === null)
    return names
      .map((name) => {
        const account = live.find(({ gateway }) => gateway === name)
        // An own account that does not open is not replaced by the installation's: the money would go elsewhere.
        return account ? openAccount(account) : installed.get(name)
      })
      .filter((one) => one !== undefined)
      .concat(await openOwn(own, merchantId))
  }

  const lastNames = new Set([...ready, ...own].map(({ name }) => name))
  const explain = async (opened: readonly OpenGateway[], merchantId: string, wanted: Explained) =>
    orderCandidates({
      ...wanted,
      routes: DEFAULT_ROUTES,
      available: opened.map(({ gateway: { name, rails }, health }) => ({
        name,
        rails,
        health: health(),
        isLast: lastNames.has(name),
      })),
      rules: await routingRules(merchantId),
      key: wanted.key === null ? null : `${merchantId}:${wanted.key}`,
    })

  const find: Gateways['find'] = async (merchantId, name, accountId) => {
    if (accountId === null)
      return installed.get(name)?.gateway ?? own.find((one) => one.name === name)?.of(merchantId)
    const row = await requireAccount(accounts, merchantId, accountId)
    return row.gateway === name ? opener.openAccount(row)?.gateway : undefined
  }

  return {
    open,
    find,
    async of(merchantId, name, accountId) {
      const gateway = await find(merchantId, name, accountId)
      if (gateway) return gateway
      throw new Error(`${name} is not configured here with the account ${accountId ?? 'of the installation'}`)
    },
    async candidates(merchantId, wanted) {
      const opened = await open(merchantId)
      const { candidates } = await explain(opened, merchantId, wanted)
      return candidates.flatMap(({ name, channels }) =>
        opened.filter(({ gateway }) => gateway.name === name).map((one) => ({ ...one, channels })),
      )
    },
    explain: async (merchantId, wanted) => explain(await open(merchantId), merchantId, wanted),
    routes: DEFAULT_ROUTES,
    async listeners(name, merchantId) {
      if (merchantId === null) {
        const found = installed.get(name)
        return found ? [found] : []
      }
      const rows = (await accounts.get(merchantId)).filter(({ gateway }) => gateway === name)
      return listening(rows)
        .map(openAccount)
        .filter((one) => one !== undefined)
    },
    forget: (merchantId) => accounts.forget(merchantId),
    known: opener.definitions.map((definition) => ({
      definition,
      isInstalled: installed.has(definition.name),
      baseUrl: opener.baseUrlOf(definition),
    })),
    tryCredentials: (name, credentials) => opener.tryCredentials(name, credentials),
    close: () => opener.close(),
  }
}

// Not guarded: whatever trouble the sandbox makes, somebody who tests has asked for it.
const named = (gateway: Gateway): Opened => ({ gateway, title: titled(gateway.name), health: () => 'up' })

async function openOwn(own: readonly OwnGateway[], merchantId: string): Promise<OpenGateway[]> {
  const opened = await Promise.all(
    own.map(async ({ title, of }) => ({ ...named(await of(merchantId)), title, accountId: null })),
  )
  return opened.filter(({ gateway: { rails } }) => rails.length > 0)
}

function titled(name: string): string {
  return name.replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

/** An account that was made a moment ago by another process is not remembered here yet. */
async function requireAccount(
  accounts: Memory<AccountRow[]>,
  merchantId: string,
  accountId: string,
): Promise<AccountRow> {
  const find = async () => (await accounts.get(merchantId)).find(({ id }) => id === accountId)
  const known = await find()
  if (known) return known
  accounts.forget(merchantId)
  const found = await find()
  if (!found) throw new Error(`the merchant ${merchantId} has no gateway account ${accountId}`)
  return found
}

// Whoever replaces accounts more often than this while payments are under way is helped by the resolver alone.
const REVOKED_LISTENERS = 3

/** The live account and the latest of those that were revoked: their payments may still ring. */
function listening(rows: readonly AccountRow[]): AccountRow[] {
  const live = rows.filter(({ revokedAt }) => revokedAt === null)
  const revoked = rows.filter(({ revokedAt }) => revokedAt !== null)
  return [...live, ...revoked.slice(0, REVOKED_LISTENERS)]
}
