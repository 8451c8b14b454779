// Lists of payments and charges, with pagination. Each item is the same record that reading one payment returns.

import type { Static } from 'typebox'
import type { Merchant } from '../core/merchant.ts'
import { requireCustomer } from '../customers/service.ts'
import { type Page, paginate } from '../kit/db/pagination.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import {
  type AllPaymentsQuery,
  type KnownGateways,
  type PaymentsWithinQuery,
  requireKnownGateway,
  type Scope,
  toFilter,
} from './filters.ts'
import { listPaymentRows } from './list-queries.ts'

export type PaymentListsApp = PaymentsApp & KnownGateways

/** An unknown customer in the query has no payments and is no error. */
export async function listPayments(
  app: PaymentListsApp,
  merchant: Merchant,
  scope: Scope,
  query: Static<typeof AllPaymentsQuery>,
): Promise<Page<PaymentRow>> {
  requireKnownGateway(app, query)
  const filter = toFilter(scope, query)
  // Amounts are bigint, which JSON does not have.
  const named = JSON.stringify(filter, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  return paginate(app.cursors, `payments:${merchant.id}:${named}`, query, (window) =>
    listPaymentRows(app.db, merchant.id, filter, window, app.cappedLists),
  )
}

/** Payments and charges together. */
export async function listCustomerPayments(
  app: PaymentListsApp,
  merchant: Merchant,
  customerId: string,
  query: Static<typeof PaymentsWithinQuery>,
): Promise<Page<PaymentRow>> {
  await requireCustomer(app, merchant, customerId)
  return listPayments(app, merchant, { customerId }, query)
}
