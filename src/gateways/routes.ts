// What operators do with gateways, under /admin/v1: see what the installation has, and keep accounts of single merchants.

import type { Static } from 'typebox'
import { Refusal } from '../core/errors.ts'
import type { Mode } from '../core/merchant.ts'
import { wholePage } from '../core/page.ts'
import { VaultError } from '../kit/crypto.ts'
import { listed, type OperatorRoute, ok, operatorRoute } from '../kit/route.ts'
import { UuidParams } from '../kit/schema.ts'
import { variableOf } from '../settings.ts'
import type { AccountRow } from './account-queries.ts'
import {
  type AccountsApp,
  listLiveAccounts,
  requireAccount,
  requireDefinition,
  revokeAccount,
  type SavedAccount,
  saveAccount,
} from './accounts.ts'
import { type Credentials, openCredentials } from './credentials.ts'
import type { GatewayDefinition } from './definition.ts'
import { webhookPathOf } from './opener.ts'
import type { KnownGateway } from './registry.ts'
import {
  AccountBody,
  AccountQuery,
  AccountRecord,
  GatewayParams,
  InstalledGatewayRecord,
  MerchantGatewayRecord,
  SavedAccountRecord,
} from './schema.ts'

interface Needs extends AccountsApp {
  publicUrl(): string
  /** Merchants are another slice's, which hands its function in. */
  requireMerchant(merchantId: string): Promise<{ mode: Mode }>
}

export function gatewayRoutes(app: Needs): OperatorRoute[] {
  return [...readRoutes(app), ...writeRoutes(app)]
}

const ACCOUNT_PATH = '/admin/v1/merchants/{uuid}/gateways/{gateway}'

const readRoutes = (app: Needs): OperatorRoute[] => [
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/gateways',
    summary: 'List the gateways, and which of them the installation has an account of',
    answer: { http: 200, data: InstalledGatewayRecord, list: true },
    refusals: [],
    handle: async () => {
      const records = app.gateways.known.map((known) => showInstalled(app, known))
      return listed('Gateways.', records, wholePage(records.length))
    },
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants/{uuid}/gateways',
    summary: 'List the gateways of a merchant, and whose account serves it',
    params: UuidParams,
    answer: { http: 200, data: MerchantGatewayRecord, list: true },
    refusals: ['merchant_not_found'],
    handle: async ({ params }) => {
      await app.requireMerchant(params.uuid)
      const accounts = await listLiveAccounts(app, params.uuid)
      const records = app.gateways.known.map((known) => showServing(app, known, accounts))
      return listed('Gateways of the merchant.', records, wholePage(records.length))
    },
  }),
  operatorRoute({
    method: 'GET',
    path: ACCOUNT_PATH,
    summary: "Read a merchant's own account at a gateway, without its credentials",
    params: GatewayParams,
    answer: { http: 200, data: AccountRecord },
    refusals: ['merchant_not_found', 'gateway_not_found', 'gateway_account_not_found'],
    handle: async ({ params: { uuid, gateway } }) => {
      await app.requireMerchant(uuid)
      return ok('Gateway account.', showAccount(app, await requireAccount(app, uuid, gateway)))
    },
  }),
]

const writeRoutes = (app: Needs): OperatorRoute[] => [
  operatorRoute({
    method: 'PUT',
    path: ACCOUNT_PATH,
    summary: 'Give a merchant its own account at a gateway, or that account other credentials',
    params: GatewayParams,
    query: AccountQuery,
    body: AccountBody,
    answer: { http: 200, data: SavedAccountRecord },
    refusals: ['merchant_not_found', 'gateway_not_found', 'mode_mismatch', 'gateway_credentials_refused'],
    handle: async ({ params: { uuid, gateway }, query, body }) => {
      // A database copied from the other environment: its merchants stay there.
      if ((await app.requireMerchant(uuid)).mode !== app.mode) throw new Refusal('mode_mismatch')
      const isTried = query.probe ?? true
      const saved = await saveAccount(app, uuid, gateway, body.credentials, { isTried })
      return ok('Gateway account saved.', showSaved(app, saved))
    },
  }),
  operatorRoute({
    method: 'DELETE',
    path: ACCOUNT_PATH,
    summary: "End a merchant's own account at a gateway for new payments",
    params: GatewayParams,
    answer: { http: 200, data: AccountRecord },
    refusals: ['merchant_not_found', 'gateway_not_found', 'gateway_account_not_found'],
    handle: async ({ params: { uuid, gateway } }) => {
      await app.requireMerchant(uuid)
      const revoked = await revokeAccount(app, uuid, gateway)
      return ok(
        'Gateway account revoked. What was begun with it is still asked about.',
        showAccount(app, revoked),
      )
    },
  }),
]

function showInstalled(app: Needs, { definition, isInstalled, baseUrl }: KnownGateway) {
  const { name, title, credentials } = definition
  return {
    gateway: name,
    title,
    isConfigured: isInstalled,
    baseUrl,
    webhookUrl: `${app.publicUrl()}${webhookPathOf(name)}`,
    credentials: credentials.map((field) => ({
      name: field.name,
      variable: variableOf(name, field.name),
      isRequired: field.isRequired,
      meaning: field.meaning,
    })),
  }
}

function showServing(app: Needs, { definition, isInstalled }: KnownGateway, accounts: readonly AccountRow[]) {
  const { name: gateway, title } = definition
  const own = accounts.find((account) => account.gateway === gateway)
  return {
    gateway,
    title,
    servedBy: own ? 'merchant' : isInstalled ? 'installation' : null,
    account: own ? showAccount(app, own) : null,
  }
}

function showAccount(app: Needs, account: AccountRow): Static<typeof AccountRecord> {
  const definition = requireDefinition(app, account.gateway)
  return {
    uuid: account.id,
    gateway: account.gateway,
    title: definition.title,
    status: account.revokedAt ? 'revoked' : 'active',
    credentials: statesOf(definition, readCredentials(app, account)),
    webhookUrl: `${app.publicUrl()}${webhookPathOf(account.gateway, account.merchantId)}`,
    createdAt: account.createdAt.toISOString(),
    updatedAt: account.updatedAt.toISOString(),
    revokedAt: account.revokedAt?.toISOString() ?? null,
  }
}

function showSaved(app: Needs, { account, trial }: SavedAccount): Static<typeof SavedAccountRecord> {
  return { ...showAccount(app, account), probe: trial, warnings: warningsOf(app, account, trial) }
}

function warningsOf(app: Needs, { gateway }: AccountRow, trial: SavedAccount['trial']): string[] {
  const { title } = requireDefinition(app, gateway)
  if (trial !== 'unreachable') return []
  return [`${title} could not be reached, so the credentials were saved without being tried.`]
}

/** Undefined when they do not open: an operator must be able to see that, and to give new ones. */
function readCredentials(app: Needs, account: AccountRow): Credentials | undefined {
  try {
    return openCredentials(app.vault, account)
  } catch (error) {
    if (error instanceof VaultError) return undefined
    throw error
  }
}

const ENDING = 4
// Below this length four characters would give away too much.
const LEAST_FOR_ENDING = 20

function statesOf({ credentials }: GatewayDefinition, given: Credentials = {}) {
  return credentials.map(({ name }) => {
    const text = given[name] ?? ''
    return {
      name,
      isSet: text !== '',
      ending: text.length >= LEAST_FOR_ENDING ? text.slice(-ENDING) : null,
    }
  })
}
