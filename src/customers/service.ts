// Reads customers and their saved payment methods. The statement that records a payment writes its customer itself; write.ts
// and methods.ts have the merchant's changes.

import { requireFound } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { Db } from '../kit/db/db.ts'
import { type ListQuery, type Page, paginate } from '../kit/db/pagination.ts'
import type { CustomersApp } from './app.ts'
import type { CustomerRow } from './customer.ts'
import { listCustomerRows } from './list-queries.ts'
import type { MethodRow } from './method.ts'
import { findMethod, listMethodRows, listMethodRowsById } from './method-queries.ts'
import { serializeMethod } from './methods.ts'
import { findCustomer } from './queries.ts'
import { type SavedMethodView, statusOf } from './schema.ts'
import { findCustomersByPhones, phonesOf, searchCustomerRows } from './search-queries.ts'

export async function listCustomers(
  app: CustomersApp,
  merchant: Merchant,
  query: ListQuery & { search?: string },
): Promise<Page<CustomerRow>> {
  const { search } = query
  return paginate(app.cursors, `customers:${merchant.id}:${search ?? ''}`, query, (window) =>
    search === undefined
      ? listCustomerRows(app.db, merchant.id, window, app.cappedLists)
      : searchCustomerRows(app.db, merchant.id, search.normalize('NFC').toLowerCase(), window),
  )
}

export async function requireCustomer(
  app: CustomersApp,
  merchant: Merchant,
  id: string,
): Promise<CustomerRow> {
  return requireFound(await findCustomer(app.db, merchant.id, id), 'customer_not_found')
}

/** Whether new payments and charges of the customer are rejected. */
export async function isBlocked(app: CustomersApp, merchantId: string, id: string): Promise<boolean> {
  return (await findCustomer(app.db, merchantId, id))?.status === 'blocked'
}

export async function listSavedMethods(
  app: CustomersApp,
  merchant: Merchant,
  customerId: string,
): Promise<SavedMethodView[]> {
  await requireCustomer(app, merchant, customerId)
  const rows = await listMethodRows(app.db, merchant.id, customerId)
  return rows.map((row) => serializeMethod(app, row))
}

/** The saved methods of a customer that can be charged now: the default first, then the last used. */
export async function listActiveMethods(
  app: CustomersApp,
  merchantId: string,
  customerId: string,
): Promise<MethodRow[]> {
  const rows = await listMethodRows(app.db, merchantId, customerId)
  const usedAt = ({ lastUsedAt, createdAt }: MethodRow) => (lastUsedAt ?? createdAt).getTime()
  return rows
    .filter((row) => statusOf(row, app.clock.now()) === 'active')
    .toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || usedAt(b) - usedAt(a))
}

export async function findSavedMethod(
  app: CustomersApp,
  merchantId: string,
  id: string,
): Promise<MethodRow | undefined> {
  return findMethod(app.db, merchantId, id)
}

/** Finds several methods by their ids. */
export async function findSavedMethods(
  app: CustomersApp,
  merchantId: string,
  ids: readonly string[],
): Promise<Map<string, MethodRow>> {
  const rows = ids.length === 0 ? [] : await listMethodRowsById(app.db, merchantId, ids)
  return new Map(rows.map((row) => [row.id, row]))
}

/** The ids of the customers with this whole phone number. */
export async function findCustomersByPhone(db: Db, merchantId: string, text: string): Promise<string[]> {
  const phones = phonesOf(text)
  return phones.length === 0 ? [] : findCustomersByPhones(db, merchantId, phones)
}
