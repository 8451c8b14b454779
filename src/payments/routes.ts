import { listed, type Route, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from './app.ts'
import { CHARGE_EXAMPLE, PAYMENT_EXAMPLE } from './examples.ts'
import { CustomerPaymentsQuery, listCustomerPayments, listPayments, PaymentsQuery } from './list.ts'
import { ChargeRecord, PaymentRecord } from './schema.ts'
import { serializeCharges, serializePayments } from './views.ts'

const FILTERS =
  'Newest first. All filters apply together; search matches a part of the reference or of the e-mail. Use cursors for deep pages. Each item is the same record that reading one returns.'

export function paymentListRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/checkout/payments',
      tag: 'Checkout',
      scope: 'checkout:read',
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
      scope: 'charges:write',
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
      summary: "List a customer's payments",
      description:
        'Payments and charges together, newest first, with the filters of the other lists. A charge has the form that verify-payment returns.',
      params: UuidParams,
      query: CustomerPaymentsQuery,
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
