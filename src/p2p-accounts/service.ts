// The receiving accounts of a merchant: create, read, change, delete, list.

import { ApiError, requireFound } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { createIdempotently, type IdempotentResult } from '../kit/db/idempotency.ts'
import { type ListQuery, type Page, paginate } from '../kit/db/pagination.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AccountRow } from './account.ts'
import { changeAccount, toAccountFields } from './input.ts'
import {
  deleteAccountRow,
  findAccountRow,
  insertAccount,
  listAccountRows,
  lockAccount,
  updateAccount,
} from './queries.ts'

import type { AccountChange, AccountInput } from './schema.ts'

export interface P2pAccountsApp extends PaymentsApp {
  p2pGateways: {
    /** Drops the cached rails of a merchant whose accounts changed in this process. */
    invalidate(merchantId: string): void
  }
}

export async function createAccount(
  app: P2pAccountsApp,
  merchant: Merchant,
  input: AccountInput,
  key: string | undefined,
): Promise<IdempotentResult<AccountRow>> {
  const fields = toAccountFields(input)
  const claim = { merchantId: merchant.id, key, operation: 'POST /api/v1/p2p/accounts', input: fields }
  const created = await createIdempotently(app, claim, {
    async make(tx, id) {
      const now = app.clock.now()
      const account: AccountRow = { ...fields, merchantId: merchant.id, id, createdAt: now, updatedAt: now }
      await insertAccount(tx, account)
      return account
    },
    find: (id) => findAccountRow(app.db, merchant.id, id),
  })
  app.p2pGateways.invalidate(merchant.id)
  return created
}

export async function requireAccount(
  app: P2pAccountsApp,
  merchant: Merchant,
  id: string,
): Promise<AccountRow> {
  return requireFound(await findAccountRow(app.db, merchant.id, id), 'p2p_account_not_found')
}

/** Existing transfers keep the destination that their payers were shown. */
export async function updateReceivingAccount(
  app: P2pAccountsApp,
  merchant: Merchant,
  id: string,
  change: AccountChange,
): Promise<AccountRow> {
  const changed = await app.db.transaction(async (tx) => {
    const account = await lockAccount(tx, merchant.id, id)
    if (!account) throw new ApiError('p2p_account_not_found')
    const next = { ...changeAccount(account, change), updatedAt: app.clock.now() }
    await updateAccount(tx, next)
    return next
  })
  app.p2pGateways.invalidate(merchant.id)
  return changed
}

export async function deleteAccount(
  app: P2pAccountsApp,
  merchant: Merchant,
  id: string,
): Promise<AccountRow> {
  const account = await deleteAccountRow(app.db, merchant.id, id)
  if (!account) throw new ApiError('p2p_account_not_found')
  app.p2pGateways.invalidate(merchant.id)
  return account
}

export async function listAccounts(
  app: P2pAccountsApp,
  merchant: Merchant,
  query: ListQuery & { currency?: string; channel?: string },
): Promise<Page<AccountRow>> {
  const { currency = null, channel = null } = query
  const scope = `p2p-accounts:${merchant.id}:${currency}:${channel}`
  return paginate(app.cursors, scope, query, (window) =>
    listAccountRows(app.db, merchant.id, { currency, channel }, window),
  )
}
