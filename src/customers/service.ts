// Customers and the payment methods they saved. Their rows are written by payments; here they are read, and methods are
// kept with the provider's own token sealed.

import { createHash } from 'node:crypto'
import { Refusal } from '../core/errors.ts'
import { base62 } from '../core/ids.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import type { SavedMethod } from '../gateways/gateway.ts'
import type { Clock } from '../kit/clock.ts'
import type { Signer, Vault } from '../kit/crypto.ts'
import { type Db, sqlStateOf } from '../kit/db.ts'
import { type ListQuery, pageOf, substringPattern, windowOf } from '../kit/list.ts'
import type { Random } from '../kit/random.ts'
import {
  type CustomerRow,
  countCustomers,
  findCustomer,
  findMethod,
  findMethodByTokenHash,
  listCustomerRows,
  listMethodRows,
  type MethodByTokenRow,
  type MethodRow,
  replaceCredential,
  upsertMethod,
} from './queries.ts'
import { type SavedMethodView, toSavedMethod } from './schema.ts'

export { METHOD_EXAMPLE } from './examples.ts'
export type { MethodRow } from './queries.ts'
export { labelOf, SavedMethodRecord, type SavedMethodView, statusOf, toSavedMethod } from './schema.ts'

export interface CustomersApp {
  db: Db
  clock: Clock
  random: Random
  vault: Vault
  cursors: Signer
}

export async function listCustomers(
  app: CustomersApp,
  merchant: Merchant,
  query: ListQuery & { search?: string },
): Promise<{ rows: CustomerRow[]; meta: PageMeta }> {
  const scope = `customers:${merchant.id}:${query.search ?? ''}`
  const window = windowOf(app.cursors, scope, query)
  const pattern =
    query.search === undefined ? null : substringPattern(query.search.normalize('NFC').toLowerCase())
  const filter = { pattern, createdFrom: window.createdFrom, createdTo: window.createdTo }
  const [rows, counted] = await Promise.all([
    listCustomerRows(app.db, merchant.id, filter, { ...window, limit: window.limit + 1 }),
    countCustomers(app.db, merchant.id, filter),
  ])
  return pageOf(app.cursors, scope, window, rows, counted)
}

export async function requireCustomer(
  app: CustomersApp,
  merchant: Merchant,
  id: string,
): Promise<CustomerRow> {
  const customer = await findCustomer(app.db, merchant.id, id)
  if (!customer) throw new Refusal('customer_not_found')
  return customer
}

export async function listSavedMethods(
  app: CustomersApp,
  merchant: Merchant,
  customerId: string,
): Promise<SavedMethodView[]> {
  await requireCustomer(app, merchant, customerId)
  const rows = await listMethodRows(app.db, merchant.id, customerId)
  return rows.map((row) => viewMethod(app, row))
}

export async function findSavedMethod(
  app: CustomersApp,
  merchantId: string,
  id: string,
): Promise<MethodRow | undefined> {
  return findMethod(app.db, merchantId, id)
}

export function viewMethod(app: CustomersApp, row: MethodRow): SavedMethodView {
  return toSavedMethod(row, app.vault.open(row.tokenSealed, context(row, 'token_sealed')), app.clock.now())
}

/** The method behind a recurring token of this merchant; another merchant's token is as unknown as a made-up one. */
export async function requireMethodByToken(
  app: CustomersApp,
  merchant: Merchant,
  recurringToken: string,
): Promise<MethodByTokenRow> {
  const method = await findMethodByTokenHash(app.db, merchant.id, hashToken(recurringToken))
  if (!method) throw new Refusal('recurring_token_not_found')
  return method
}

export function openCredential(app: CustomersApp, method: MethodRow): string {
  return app.vault.open(method.credentialSealed, context(method, 'credential_sealed'))
}

const TOKEN_BYTES = 32
const TOKEN_CHARACTERS = 43

export interface MethodOwner {
  merchantId: string
  customerId: string
  gateway: string
  /** The account at the gateway that can charge it; null is the installation's. */
  accountId: string | null
  isRecurring: boolean
}

/** Keeps what the provider let us keep. The same card of the same customer is one record, also in parallel. */
export async function saveMethod(
  app: CustomersApp,
  owner: MethodOwner,
  method: SavedMethod,
): Promise<MethodRow> {
  const row = { merchantId: owner.merchantId, id: app.random.uuid() }
  const token = `rtk_${base62(app.random.bytes(TOKEN_BYTES), TOKEN_CHARACTERS)}`
  const save = () =>
    upsertMethod(app.db, {
      ...row,
      customerId: owner.customerId,
      type: method.type,
      gateway: owner.gateway,
      accountId: owner.accountId,
      fingerprint: method.fingerprint,
      tokenHash: hashToken(token),
      tokenSealed: app.vault.seal(token, context(row, 'token_sealed')),
      credentialSealed: app.vault.seal(method.credential, context(row, 'credential_sealed')),
      currencies: method.currencies,
      card: method.card,
      mobileMoney: method.mobileMoney,
      isRecurringIntent: owner.isRecurring,
      expiresAt: method.card ? endOfMonth(method.card.expiryYear, method.card.expiryMonth) : null,
      at: app.clock.now(),
    })
  const kept = await save().catch((error: unknown) => {
    // Two first methods of one customer at once: one of them became the default, so the other is not.
    if (sqlStateOf(error) !== '23505') throw error
    return save()
  })
  if (kept.id === row.id || openCredential(app, kept) === method.credential) return kept
  const sealed = app.vault.seal(method.credential, context(kept, 'credential_sealed'))
  return (await replaceCredential(app.db, kept.merchantId, kept.id, sealed)) ?? kept
}

// The token has 256 random bits, so a plain hash cannot be searched backwards.
function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function context(row: { merchantId: string; id: string }, column: string) {
  return { table: 'payment_methods', column, rowId: row.id, merchantId: row.merchantId }
}

/** A card is good to the end of its month. */
function endOfMonth(year: number, month: number): Date {
  return new Date(Date.UTC(year, month, 1))
}
