// The operators' gateway endpoints under /admin/v1: list the instance's gateways, and manage merchants' accounts.

import type { Static } from 'typebox'
import { ApiError } from '../core/errors.ts'
import { LIMIT_FIELDS } from '../core/gateway-accounts/limits.ts'
import type { Mode } from '../core/merchant.ts'
import { singlePage } from '../core/page.ts'
import { VaultError } from '../kit/crypto.ts'
import {
  listed,
  type OperatorRoute,
  ok,
  operatorRoute,
  type PersonRoute,
  personRoute,
} from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { CallbackAccount } from '../secrets/callback-paths.ts'
import { envNameOf } from '../settings.ts'
import type { AccountDefinition } from './account-definition.ts'
import type { AccountRow } from './account-queries.ts'
import {
  type AccountsApp,
  checkAccount,
  listLiveAccounts,
  requireAccount,
  requireDefinition,
  revokeAccount,
  type SavedAccount,
  saveAccount,
} from './accounts.ts'
import { webhookPathOf } from './connections.ts'
import { type Credentials, openCredentials } from './credentials.ts'
import type { CredentialField } from './definition.ts'
import {
  ACCOUNT_BODY_EXAMPLE,
  ACCOUNT_EXAMPLE,
  INSTANCE_GATEWAY_EXAMPLE,
  MERCHANT_GATEWAY_EXAMPLE,
  SAVED_ACCOUNT_EXAMPLE,
} from './examples.ts'
import type { SupportedGateway } from './registry.ts'
import {
  AccountBody,
  AccountParams,
  AccountQuery,
  AccountRecord,
  GatewayParams,
  GatewayRecord,
  MerchantGatewayRecord,
  SavedAccountRecord,
} from './schema.ts'

interface Needs extends AccountsApp {
  publicUrl(): string
  /** Provided by the merchants slice. */
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
    operationId: 'gateways.list',
    summary: 'List the gateways, and which of them have credentials configured',
    description:
      'With the credentials and limits that an account of each gateway has, and the webhook URL to enter at the provider.',
    response: { http: 200, data: GatewayRecord, list: true },
    errors: [],
    examples: { data: INSTANCE_GATEWAY_EXAMPLE },
    handle: async () => {
      const records = app.gateways.supported.map((supported) => serializeGateway(app, supported))
      return listed('Gateways.', records, singlePage(records.length))
    },
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants/{uuid}/gateways',
    operationId: 'gatewayAccounts.list',
    summary: 'List the gateways of a merchant, and whose account each of them uses',
    description: 'A merchant’s own account at a gateway replaces those of the instance there.',
    params: UuidParams,
    response: { http: 200, data: MerchantGatewayRecord, list: true },
    errors: ['merchant_not_found'],
    examples: { data: MERCHANT_GATEWAY_EXAMPLE },
    handle: async ({ params }) => {
      await app.requireMerchant(params.uuid)
      const records = await listMerchantGateways(app, params.uuid)
      return listed('Gateways of the merchant.', records, singlePage(records.length))
    },
  }),
  operatorRoute({
    method: 'GET',
    path: ACCOUNT_PATH,
    operationId: 'gatewayAccounts.get',
    summary: "Get a merchant's own account at a gateway, without its credentials",
    description:
      'Credentials are write-only: only whether they are set, and their last characters, are shown.',
    params: GatewayParams,
    response: { http: 200, data: AccountRecord },
    errors: ['merchant_not_found', 'gateway_not_found', 'gateway_account_not_found'],
    examples: { data: ACCOUNT_EXAMPLE },
    handle: async ({ params: { uuid, gateway } }) => {
      await app.requireMerchant(uuid)
      return ok('Gateway account.', serializeAccount(app, await requireAccount(app, uuid, gateway)))
    },
  }),
]

const writeRoutes = (app: Needs): OperatorRoute[] => [
  operatorRoute({
    method: 'PUT',
    path: ACCOUNT_PATH,
    operationId: 'gatewayAccounts.save',
    summary: 'Create or replace the credentials of a merchant’s own account at a gateway',
    description:
      'The provider is asked whether it accepts them before they are stored, unless `probe` is false. New payments use the account from then on.',
    params: GatewayParams,
    query: AccountQuery,
    body: AccountBody,
    response: { http: 200, data: SavedAccountRecord },
    errors: ['merchant_not_found', 'gateway_not_found', 'mode_mismatch', 'gateway_credentials_refused'],
    examples: { body: ACCOUNT_BODY_EXAMPLE, data: SAVED_ACCOUNT_EXAMPLE },
    handle: async ({ params: { uuid, gateway }, query, body }) => {
      // If the database was copied from the other environment, its merchants cannot be used here.
      if ((await app.requireMerchant(uuid)).mode !== app.mode) throw new ApiError('mode_mismatch')
      const isChecked = query.probe ?? true
      const saved = await saveAccount(app, uuid, gateway, body.credentials, { isChecked })
      return ok('Gateway account saved.', serializeSavedAccount(app, saved))
    },
  }),
  operatorRoute({
    method: 'DELETE',
    path: ACCOUNT_PATH,
    operationId: 'gatewayAccounts.revoke',
    summary: "Revoke a merchant's own account at a gateway for new payments",
    description:
      'Payments that it began are still resolved with it. New ones use the account of the instance, if it has one.',
    params: GatewayParams,
    response: { http: 200, data: AccountRecord },
    errors: ['merchant_not_found', 'gateway_not_found', 'gateway_account_not_found'],
    handle: async ({ params: { uuid, gateway } }) => {
      await app.requireMerchant(uuid)
      const revoked = await revokeAccount(app, uuid, gateway)
      return ok(
        'Gateway account revoked. Payments that it began are still resolved with it.',
        serializeAccount(app, revoked),
      )
    },
  }),
]

const OWN_PATH = '/app/settings/gateways'

/** For the people of a merchant in the dashboard: its own accounts. */
export const ownGatewayRoutes = (app: Needs): PersonRoute[] => [
  personRoute({
    method: 'GET',
    path: OWN_PATH,
    scope: 'settings:read',
    operationId: 'ownGateways.list',
    handle: async ({ merchant }) => {
      const gateways = await listMerchantGateways(app, merchant.id)
      const records = gateways.map(({ gateway, title, servedBy, account }) => ({
        ...{ gateway, title, servedBy },
        savedAt: account?.updatedAt ?? null,
      }))
      return listed('Gateways.', records, singlePage(records.length))
    },
  }),
  personRoute({
    method: 'GET',
    path: `${OWN_PATH}/{gateway}`,
    // Where callbacks are not signed, the webhook URL of the account is a secret.
    scope: 'settings:write',
    operationId: 'ownGateways.get',
    params: AccountParams,
    handle: async ({ merchant, params: { gateway } }) => {
      const definition = requireDefinition(app, gateway)
      const accounts = await listLiveAccounts(app, merchant.id)
      const own = serializeMerchantGateway(app, definition, accounts)
      return ok('Gateway.', { ...own, ...serializeFields(definition) })
    },
  }),
  personRoute({
    method: 'PUT',
    path: `${OWN_PATH}/{gateway}`,
    scope: 'settings:write',
    operationId: 'ownGateways.save',
    params: AccountParams,
    body: AccountBody,
    handle: async ({ merchant, params: { gateway }, body }) => {
      if (merchant.mode !== app.mode) throw new ApiError('mode_mismatch')
      const saved = await saveAccount(app, merchant.id, gateway, body.credentials, { isChecked: true })
      return ok('Gateway account saved.', serializeSavedAccount(app, saved))
    },
  }),
  personRoute({
    method: 'POST',
    path: `${OWN_PATH}/{gateway}/test`,
    scope: 'settings:write',
    operationId: 'ownGateways.test',
    audited: false,
    params: AccountParams,
    handle: async ({ merchant, params: { gateway } }) =>
      ok('Checked.', { result: await checkAccount(app, merchant.id, gateway) }),
  }),
  personRoute({
    method: 'DELETE',
    path: `${OWN_PATH}/{gateway}`,
    scope: 'settings:write',
    operationId: 'ownGateways.revoke',
    params: AccountParams,
    handle: async ({ merchant, params: { gateway } }) =>
      ok('Gateway account revoked.', serializeAccount(app, await revokeAccount(app, merchant.id, gateway))),
  }),
]

async function listMerchantGateways(app: Needs, merchantId: string) {
  const accounts = await listLiveAccounts(app, merchantId)
  return merchantDefinitions(app, accounts).map((definition) =>
    serializeMerchantGateway(app, definition, accounts),
  )
}

function serializeGateway(app: Needs, { definition, isConfigured, baseUrl }: SupportedGateway) {
  const { name, title } = definition
  return {
    gateway: name,
    title,
    isConfigured,
    baseUrl,
    webhookUrl: webhookUrlOf(app, definition, { gateway: name, merchantId: null, accountId: null }),
    ...serializeFields(definition),
  }
}

const serializeFields = ({ name, credentials }: AccountDefinition) => ({
  credentials: credentials.filter((field) => !isLimit(field)).map((field) => serializeField(name, field)),
  limits: LIMIT_FIELDS.map((field) => serializeField(name, field)),
})

const isLimit = (field: CredentialField) => LIMIT_FIELDS.some(({ name }) => name === field.name)

const serializeField = (account: string, { name, isRequired, meaning }: CredentialField) => ({
  name,
  variable: envNameOf(account, name),
  isRequired,
  meaning,
})

/** Those of the instance, and the merchant's own with other labels, in the order of the gateways and labels. */
function merchantDefinitions(app: Needs, accounts: readonly AccountRow[]): AccountDefinition[] {
  const shared = app.gateways.supported.map(({ definition }) => definition)
  const own = accounts
    .filter(({ gateway }) => !shared.some(({ name }) => name === gateway))
    .map(({ gateway }) => app.gateways.findDefinition(gateway))
    .filter((definition) => definition !== undefined)
  const gateways = [...new Set(shared.map(({ gateway }) => gateway))]
  return gateways.flatMap((gateway) =>
    [...shared, ...own]
      .filter((definition) => definition.gateway === gateway)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
  )
}

function serializeMerchantGateway(
  app: Needs,
  { name, title, gateway }: AccountDefinition,
  accounts: readonly AccountRow[],
) {
  const ownAccount = accounts.find((account) => account.gateway === name)
  // With an own account at the gateway, those of the instance there do not serve the merchant.
  const hasOwn = accounts.some((account) => app.gateways.findDefinition(account.gateway)?.gateway === gateway)
  const isShared = app.gateways.supported.some((one) => one.definition.name === name && one.isConfigured)
  return {
    gateway: name,
    title,
    servedBy: ownAccount ? 'merchant' : isShared && !hasOwn ? 'instance' : null,
    account: ownAccount ? serializeAccount(app, ownAccount) : null,
  }
}

function serializeAccount(app: Needs, account: AccountRow): Static<typeof AccountRecord> {
  const { gateway, merchantId } = account
  const definition = requireDefinition(app, gateway)
  const given = readCredentials(app, account)
  return {
    uuid: account.id,
    gateway,
    title: definition.title,
    status: account.revokedAt ? 'revoked' : 'active',
    credentials: credentialStatesOf(definition, given),
    limits: limitsOf(given),
    webhookUrl: webhookUrlOf(app, definition, { gateway, merchantId, accountId: account.id }),
    createdAt: account.createdAt.toISOString(),
    updatedAt: account.updatedAt.toISOString(),
    revokedAt: account.revokedAt?.toISOString() ?? null,
  }
}

/** What to enter in the provider's dashboard. */
function webhookUrlOf(
  app: Needs,
  { unsignedCallbacks }: AccountDefinition,
  account: CallbackAccount,
): string {
  const path = unsignedCallbacks
    ? app.gateways.callbackPaths.pathOf(account, { kind: 'account' })
    : webhookPathOf(account.gateway, account.merchantId)
  return `${app.publicUrl()}${path}`
}

function serializeSavedAccount(
  app: Needs,
  { account, credentialCheck }: SavedAccount,
): Static<typeof SavedAccountRecord> {
  return {
    ...serializeAccount(app, account),
    probe: credentialCheck,
    warnings: warningsOf(app, account, credentialCheck),
  }
}

function warningsOf(
  app: Needs,
  { gateway }: AccountRow,
  credentialCheck: SavedAccount['credentialCheck'],
): string[] {
  const { title } = requireDefinition(app, gateway)
  if (credentialCheck !== 'unreachable') return []
  return [`${title} could not be reached, so the credentials were saved without being tried.`]
}

/** Undefined if they cannot be decrypted: an operator must be able to see that and to replace them. */
function readCredentials(app: Needs, account: AccountRow): Credentials | undefined {
  try {
    return openCredentials(app.vault, account)
  } catch (error) {
    if (error instanceof VaultError) return undefined
    throw error
  }
}

const ENDING_LENGTH = 4
// In a shorter value, four characters would reveal too much.
const MIN_LENGTH_FOR_ENDING = 20

/** They are no secrets, so they are shown as they were entered. */
function limitsOf({ countries, currencies, channels, amounts }: Credentials = {}) {
  return {
    countries: countries ?? null,
    currencies: currencies ?? null,
    channels: channels ?? null,
    amounts: amounts ?? null,
  }
}

function credentialStatesOf({ credentials }: AccountDefinition, given: Credentials = {}) {
  const secrets = credentials.filter((field) => !isLimit(field))
  return secrets.map(({ name }) => {
    const text = given[name] ?? ''
    return {
      name,
      isSet: text !== '',
      ending: text.length >= MIN_LENGTH_FOR_ENDING ? text.slice(-ENDING_LENGTH) : null,
    }
  })
}
