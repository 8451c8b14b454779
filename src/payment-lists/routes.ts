import { listed, type Route, route } from '../kit/http/route.ts'
import { NamedEnum, namedExtension, UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { CHARGE_EXAMPLE, PAYMENT_EXAMPLE } from '../payments/examples.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { ChargeRecord, PaymentRecord } from '../payments/schema.ts'
import { serializeCharges, serializePayments } from '../payments/views.ts'
import { AllPaymentsQuery, PaymentsQuery, PaymentsWithinQuery } from './filters.ts'
import { listCustomerPayments, listPayments, type PaymentListsApp } from './list.ts'

const ListedPayment = namedExtension(
  'PaymentOrCharge',
  PaymentRecord,
  {
    kind: NamedEnum('PaymentKind', ['checkout', 'charge'], {
      description: 'A checkout payment, or a charge of a saved method.',
    }),
  },
  { description: 'A payment or a charge, in the form of a payment.' },
)

async function serializeWithKind(app: PaymentsApp, rows: readonly PaymentRow[]) {
  const records = await serializePayments(app, rows)
  return records.map((record, index) => ({ ...record, kind: rows[index]?.kind }))
}

const FILTERS =
  'Newest first. All filters apply together; search matches a part of the reference or of the e-mail, or a receiptCode; gatewayReference a whole reference at the provider. With totalIsCapped, a list may have more matches, and a page fewer than limit although hasNext is true. Use cursors for deep pages. Each item is the same record that reading one returns.'

export function paymentListRoutes(app: PaymentListsApp): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/payments',
      tag: 'Checkout',
      scope: 'checkout:read',
      alsoScope: 'charges:read',
      operationId: 'payments.listAll',
      summary: 'List payments and charges together',
      description: `${FILTERS} A charge has the form that verify-payment returns.`,
      query: AllPaymentsQuery,
      response: { http: 200, data: ListedPayment, list: true },
      errors: ['validation_failed', 'invalid_currency', 'invalid_uuid'],
      examples: { data: [{ ...PAYMENT_EXAMPLE, kind: 'checkout' }] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listPayments(app, merchant, {}, query)
        return listed('Payments retrieved.', await serializeWithKind(app, rows), meta)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/checkout/payments',
      tag: 'Checkout',
      scope: 'checkout:read',
      operationId: 'payments.list',
      summary: 'List payments',
      description: FILTERS,
      query: PaymentsQuery,
      response: { http: 200, data: PaymentRecord, list: true },
      errors: ['validation_failed', 'invalid_currency', 'invalid_uuid'],
      examples: { data: [PAYMENT_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listPayments(app, merchant, { kind: 'checkout' }, query)
        return listed('Payments retrieved.', await serializePayments(app, rows), meta)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/charges',
      tag: 'Charges',
      scope: 'charges:read',
      operationId: 'charges.list',
      summary: 'List charges',
      description: FILTERS,
      query: PaymentsQuery,
      response: { http: 200, data: ChargeRecord, list: true },
      errors: ['validation_failed', 'invalid_currency', 'invalid_uuid'],
      examples: { data: [CHARGE_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listPayments(app, merchant, { kind: 'charge' }, query)
        return listed('Charges retrieved.', await serializeCharges(app, rows), meta)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/customers/{uuid}/payments',
      tag: 'Customer',
      scope: 'customers:read',
      operationId: 'customers.listPayments',
      summary: "List a customer's payments",
      description:
        'Payments and charges together, newest first, with the filters of the other lists. A charge has the form that verify-payment returns.',
      params: UuidParams,
      query: PaymentsWithinQuery,
      response: { http: 200, data: PaymentRecord, list: true },
      errors: ['validation_failed', 'invalid_currency', 'invalid_uuid', 'customer_not_found'],
      examples: { data: [PAYMENT_EXAMPLE] },
      handle: async ({ merchant, params, query }) => {
        const { rows, meta } = await listCustomerPayments(app, merchant, params.uuid, query)
        return listed('Payments retrieved.', await serializePayments(app, rows), meta)
      },
    }),
  ]
}
