// Gateway accounts of single merchants, managed by operators. Credentials are write-only.

import { ApiError, errorFromIssues, requireFound } from '../core/errors.ts'
import type { Mode } from '../core/merchant.ts'
import { clearTokens } from '../gateway-tokens/store.ts'
import { type CellMap, inEveryUpCell } from '../kit/cells/cells.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import type { Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'
import type { AccountDefinition } from './account-definition.ts'
import {
  type AccountRow,
  findLiveAccount,
  insertAccount,
  listAccountRows,
  listUsedNames,
  revokeLiveAccount,
  updateAccount,
} from './account-queries.ts'
import { type Credentials, credentialIssues, openCredentials, sealCredentials } from './credentials.ts'
import type { CredentialCheck, Gateways } from './registry.ts'

export interface AccountsApp {
  db: Db
  cells?: CellMap
  unscopedInstanceDb: Db
  clock: Clock
  random: Random
  vault: Vault
  log: Log
  mode: Mode
  gateways: Gateways
}

export interface SavedAccount {
  account: AccountRow
  credentialCheck: Exclude<CredentialCheck, 'refused'>
}

/** The definition of an account, with or without a label. */
export function requireDefinition(app: Pick<AccountsApp, 'gateways'>, name: string): AccountDefinition {
  return requireFound(app.gateways.findDefinition(name), 'gateway_not_found')
}

/**
 * Creates the merchant's account, or replaces its credentials. The account keeps its id: payments started with the old
 * credentials are checked with the new ones. To switch to another account at the provider, revoke the old one first.
 */
export async function saveAccount(
  app: AccountsApp,
  merchantId: string,
  name: string,
  credentials: Credentials,
  { isChecked }: { isChecked: boolean },
): Promise<SavedAccount> {
  const definition = requireDefinition(app, name)
  const trimmed = withoutBlanks(credentials)
  const issues = credentialIssues(definition, trimmed, app.mode)
  if (issues.length > 0) throw errorFromIssues(issues)
  const account = { merchantId, id: app.random.uuid(), gateway: name }
  const credentialCheck = isChecked ? await check(app, account, trimmed) : 'unchecked'
  if (credentialCheck === 'refused')
    throw new ApiError('gateway_credentials_refused', {
      message: `${definition.title} refused these credentials; nothing was changed.`,
    })
  const stored = await storeAccount(app, account, trimmed)
  app.gateways.invalidate(merchantId)
  app.log.write('gateway.credentials_saved', { merchantId, gateway: name, outcome: credentialCheck })
  return { account: stored, credentialCheck }
}

/** The names of an account; the id is a new one, in case the merchant has none yet. */
type NewAccount = Pick<AccountRow, 'merchantId' | 'id' | 'gateway'>

/** Checks the credentials as those of the account, so that the access token of the check is deleted with it. */
async function check(
  app: AccountsApp,
  { merchantId, id, gateway }: NewAccount,
  credentials: Credentials,
): Promise<CredentialCheck> {
  const live = await findLiveAccount(app.db, merchantId, gateway)
  return app.gateways.checkCredentials(gateway, credentials, { merchantId, accountId: live?.id ?? id })
}

/** Trims like the settings do: a pasted line break is not part of a key, and an empty text counts as absent. */
function withoutBlanks(credentials: Credentials): Credentials {
  const trimmed = Object.entries(credentials).map(([name, text]) => [name, text.trim()] as const)
  return Object.fromEntries(trimmed.filter(([, text]) => text !== ''))
}

// Another operator may create or revoke the account at the same time. Losing that race more often is not plausible.
const STORE_ATTEMPTS = 3

async function storeAccount(
  app: AccountsApp,
  { merchantId, id, gateway }: NewAccount,
  credentials: Credentials,
): Promise<AccountRow> {
  for (let attempt = 0; attempt < STORE_ATTEMPTS; attempt += 1) {
    const live = await findLiveAccount(app.db, merchantId, gateway)
    const accountKey = { merchantId, id: live?.id ?? id, gateway }
    const sealed = sealCredentials(app.vault, accountKey, credentials)
    const now = app.clock.now()
    const stored = live
      ? await updateAccount(app.db, merchantId, live.id, sealed, now)
      : await insertAccount(app.db, { ...accountKey, sealed, createdAt: now })
    if (stored) return stored
  }
  throw new ApiError('temporarily_unavailable')
}

/** Starts no new payments with this account; payments already started with it are still checked with it. */
export async function revokeAccount(app: AccountsApp, merchantId: string, name: string): Promise<AccountRow> {
  requireDefinition(app, name)
  const revoked = await revokeLiveAccount(app.db, merchantId, name, app.clock.now())
  if (!revoked) throw new ApiError('gateway_account_not_found')
  app.gateways.invalidate(merchantId)
  await clearTokens(app.unscopedInstanceDb, revoked.id)
  app.log.write('gateway.credentials_revoked', { merchantId, gateway: name })
  return revoked
}

export async function requireAccount(
  app: AccountsApp,
  merchantId: string,
  name: string,
): Promise<AccountRow> {
  requireDefinition(app, name)
  return requireFound(await findLiveAccount(app.db, merchantId, name), 'gateway_account_not_found')
}

/** Asks the provider whether it accepts the stored credentials. */
export async function checkAccount(
  app: AccountsApp,
  merchantId: string,
  name: string,
): Promise<CredentialCheck> {
  const account = await requireAccount(app, merchantId, name)
  const credentials = openCredentials(app.vault, account)
  return app.gateways.checkCredentials(name, credentials, { merchantId, accountId: account.id })
}

export async function listLiveAccounts(app: AccountsApp, merchantId: string): Promise<AccountRow[]> {
  const [rows = []] = await listAccountRows(app.db, [merchantId])
  return rows.filter(({ revokedAt }) => revokedAt === null)
}

/** The definitions of the accounts that merchants have of their own, each name once, in the cells that answer. */
export async function listOwnDefinitions({
  db,
  cells,
  gateways,
}: Pick<AccountsApp, 'db' | 'cells' | 'gateways'>): Promise<AccountDefinition[]> {
  const names = new Set((await inEveryUpCell(cells, () => listUsedNames(db))).flat())
  return [...names].map(gateways.findDefinition).filter((definition) => definition !== undefined)
}
