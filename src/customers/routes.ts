import { wholePage } from '../core/page.ts'
import { listed, ok, type Route, route } from '../kit/route.ts'
import { UuidParams } from '../kit/schema.ts'
import { CUSTOMER_EXAMPLE, METHOD_EXAMPLE } from './examples.ts'
import { CustomerRecord, CustomersQuery, SavedMethodRecord, toCustomer } from './schema.ts'
import { type CustomersApp, listCustomers, listSavedMethods, requireCustomer } from './service.ts'

export function customerRoutes(app: CustomersApp): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/customers',
      tag: 'Customers',
      scope: 'customers:read',
      summary: 'List customers',
      description: 'Newest first. Searchable by name or e-mail; deep pages go by cursor.',
      query: CustomersQuery,
      answer: { http: 200, data: CustomerRecord, list: true },
      refusals: ['validation_failed'],
      examples: { data: [CUSTOMER_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listCustomers(app, merchant, query)
        return listed('Customers retrieved.', rows.map(toCustomer), meta)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/customers/{uuid}',
      tag: 'Customers',
      scope: 'customers:read',
      summary: 'Get a customer',
      params: UuidParams,
      answer: { http: 200, data: CustomerRecord },
      refusals: ['invalid_uuid', 'customer_not_found'],
      examples: { data: CUSTOMER_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Customer retrieved.', toCustomer(await requireCustomer(app, merchant, params.uuid))),
    }),
    route({
      method: 'GET',
      path: '/api/v1/customers/{uuid}/payment-methods',
      tag: 'Customers',
      scope: 'customers:read',
      summary: "List a customer's saved payment methods",
      params: UuidParams,
      answer: { http: 200, data: SavedMethodRecord, list: true },
      refusals: ['invalid_uuid', 'customer_not_found'],
      examples: { data: [METHOD_EXAMPLE] },
      handle: async ({ merchant, params }) => {
        const methods = await listSavedMethods(app, merchant, params.uuid)
        return listed('Payment methods retrieved.', methods, wholePage(methods.length))
      },
    }),
  ]
}
