// Lists of payments and charges, in the one shape of all lists. Their items are the same records as reading one.

import { type Static, Type } from 'typebox'
import type { Merchant } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import { requireCustomer } from '../customers/service.ts'
import { pageOf, windowOf } from '../kit/pagination.ts'
import { CurrencyFilter, Enum, PAGE_QUERY, UuidInput } from '../kit/schema.ts'
import type { PaymentsApp } from './app.ts'
import { listPaymentRows, type PaymentFilter } from './list-queries.ts'
import type { PaymentRow } from './payment.ts'
import { PAYMENT_STATUSES } from './states.ts'

const FILTER_QUERY = {
  ...PAGE_QUERY,
  status: Type.Optional(Enum(PAYMENT_STATUSES)),
  currency: Type.Optional(CurrencyFilter),
  paymentGateway: Type.Optional(
    Type.String({ pattern: '^[a-z][a-z0-9_]{0,39}$', 'x-message': 'must be the name of a gateway.' }),
  ),
  search: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Part of a reference or of an e-mail.' }),
  ),
}

/** Of one customer, who stands in the path. */
export const CustomerPaymentsQuery = Type.Object(FILTER_QUERY)

export const PaymentsQuery = Type.Object({
  ...FILTER_QUERY,
  customer: Type.Optional(Type.Unsafe<string>({ ...UuidInput, description: 'The uuid of a customer.' })),
})

type Query = Static<typeof PaymentsQuery>
type Page = { rows: PaymentRow[]; meta: PageMeta }

/** A customer whom nobody knows has no payments: a filter is no question about the customer. */
export async function listPayments(
  app: PaymentsApp,
  merchant: Merchant,
  kind: PaymentRow['kind'] | null,
  query: Query,
): Promise<Page> {
  const filter = toFilter(kind, query)
  const scope = `payments:${merchant.id}:${JSON.stringify(filter)}`
  const window = windowOf(app.cursors, scope, query)
  const { rows, counted } = await listPaymentRows(app.db, merchant.id, filter, window, app.cappedLists)
  return pageOf(app.cursors, scope, window, rows, counted)
}

/** Payments and charges together. */
export async function listCustomerPayments(
  app: PaymentsApp,
  merchant: Merchant,
  customerId: string,
  query: Static<typeof CustomerPaymentsQuery>,
): Promise<Page> {
  await requireCustomer(app, merchant, customerId)
  return listPayments(app, merchant, null, { ...query, customer: customerId })
}

function toFilter(kind: PaymentFilter['kind'], query: Query): PaymentFilter {
  const { search } = query
  return {
    kind,
    customerId: query.customer ?? null,
    status: query.status ?? null,
    currency: query.currency ?? null,
    gateway: query.paymentGateway ?? null,
    search: search === undefined ? null : search.normalize('NFC').toLowerCase(),
  }
}
