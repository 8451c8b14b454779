// Lists of payments and charges, with pagination. Each item is the same record that reading one payment returns.

import { type Static, Type } from 'typebox'
import type { Merchant } from '../core/merchant.ts'
import { requireCustomer } from '../customers/service.ts'
import { type Page, paginate } from '../kit/db/pagination.ts'
import { CurrencyFilter, Enum, PAGE_QUERY, UuidInput } from '../kit/http/schema.ts'
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

/** The customer is in the path. */
export const CustomerPaymentsQuery = Type.Object(FILTER_QUERY)

export const PaymentsQuery = Type.Object({
  ...FILTER_QUERY,
  customer: Type.Optional(Type.Unsafe<string>({ ...UuidInput, description: 'The uuid of a customer.' })),
})

type Query = Static<typeof PaymentsQuery>
/** The list that a route shows, before the filters of its query. */
type Scope = Partial<Pick<PaymentFilter, 'kind' | 'customerId' | 'linkId'>>

/** An unknown customer in the query has no payments and is no error. */
export async function listPayments(
  app: PaymentsApp,
  merchant: Merchant,
  scope: Scope,
  query: Query,
): Promise<Page<PaymentRow>> {
  const filter = toFilter(scope, query)
  const cursorScope = `payments:${merchant.id}:${JSON.stringify(filter)}`
  return paginate(app.cursors, cursorScope, query, (window) =>
    listPaymentRows(app.db, merchant.id, filter, window, app.cappedLists),
  )
}

/** Payments and charges together. */
export async function listCustomerPayments(
  app: PaymentsApp,
  merchant: Merchant,
  customerId: string,
  query: Static<typeof CustomerPaymentsQuery>,
): Promise<Page<PaymentRow>> {
  await requireCustomer(app, merchant, customerId)
  return listPayments(app, merchant, { customerId }, query)
}

function toFilter({ kind, customerId, linkId }: Scope, query: Query): PaymentFilter {
  const { search } = query
  return {
    kind: kind ?? null,
    customerId: customerId ?? query.customer ?? null,
    linkId: linkId ?? null,
    status: query.status ?? null,
    currency: query.currency ?? null,
    gateway: query.paymentGateway ?? null,
    search: search === undefined ? null : search.normalize('NFC').toLowerCase(),
  }
}
