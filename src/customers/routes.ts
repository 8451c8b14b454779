import { Type } from 'typebox'
import { singlePage } from '../core/page.ts'
import { created, listed, ok, type Route, route } from '../kit/http/route.ts'
import { described, UuidInput, UuidParams } from '../kit/http/schema.ts'
import type { CustomersApp } from './app.ts'
import { CUSTOMER_BODY_EXAMPLE, CUSTOMER_EXAMPLE, METHOD_EXAMPLE } from './examples.ts'
import {
  BlockCustomerBody,
  CreateCustomerBody,
  customerIssues,
  toNewCustomer,
  UpdateCustomerBody,
} from './input.ts'
import { makeDefault, revokeMethod } from './methods.ts'
import { CustomerRecord, CustomersQuery, SavedMethodRecord, toCustomer } from './schema.ts'
import { listCustomers, listSavedMethods, requireCustomer } from './service.ts'
import { blockCustomer, createCustomer, unblockCustomer, updateCustomer } from './write.ts'

export function customerRoutes(app: CustomersApp): Route[] {
  return [...readRoutes(app), ...writeRoutes(app), ...blockRoutes(app), ...methodRoutes(app)]
}

function readRoutes(app: CustomersApp): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/customers',
      tag: 'Customers',
      scope: 'customers:read',
      operationId: 'customers.list',
      summary: 'List customers',
      description: 'Newest first. Searchable by name, e-mail or phone number; use cursors for deep pages.',
      query: CustomersQuery,
      response: { http: 200, data: CustomerRecord, list: true },
      errors: ['validation_failed'],
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
      operationId: 'customers.get',
      summary: 'Get a customer',
      description: 'With the totals of its successful payments.',
      params: UuidParams,
      response: { http: 200, data: CustomerRecord },
      errors: ['invalid_uuid', 'customer_not_found'],
      examples: { data: CUSTOMER_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Customer retrieved.', toCustomer(await requireCustomer(app, merchant, params.uuid))),
    }),
    route({
      method: 'GET',
      path: '/api/v1/customers/{uuid}/payment-methods',
      tag: 'Customers',
      scope: 'customers:read',
      operationId: 'paymentMethods.list',
      summary: "List a customer's saved payment methods",
      description:
        'All of them, also expired and revoked ones. Charge an active one with its recurringToken.',
      params: UuidParams,
      response: { http: 200, data: SavedMethodRecord, list: true },
      errors: ['invalid_uuid', 'customer_not_found'],
      examples: { data: [METHOD_EXAMPLE] },
      handle: async ({ merchant, params }) => {
        const methods = await listSavedMethods(app, merchant, params.uuid)
        return listed('Payment methods retrieved.', methods, singlePage(methods.length))
      },
    }),
  ]
}

function writeRoutes(app: CustomersApp): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/customers',
      tag: 'Customer',
      scope: 'customers:write',
      operationId: 'customers.create',
      summary: 'Create a customer',
      description:
        'Not needed before a payment: every payment and charge creates its customer. If the e-mail already exists, the response is 409 with the uuid of the customer.',
      body: CreateCustomerBody,
      issues: customerIssues,
      response: { http: 201, data: CustomerRecord },
      errors: ['validation_failed', 'customer_exists', 'card_data_not_allowed'],
      examples: { body: CUSTOMER_BODY_EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const fields = toNewCustomer(body)
        const { record, replayed } = await createCustomer(app, merchant, fields, idempotencyKey)
        return created('Customer created.', toCustomer(record), replayed)
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/v1/customers/{uuid}',
      tag: 'Customer',
      scope: 'customers:write',
      operationId: 'customers.update',
      summary: 'Update a customer',
      description:
        'Absent fields stay unchanged. Metadata is merged by key: a given key is replaced, a null key is removed. The next payment overwrites the names with its own.',
      params: UuidParams,
      body: UpdateCustomerBody,
      issues: customerIssues,
      response: { http: 200, data: CustomerRecord },
      errors: [
        'validation_failed',
        'invalid_uuid',
        'customer_not_found',
        'customer_exists',
        'card_data_not_allowed',
      ],
      examples: { body: { phone: '+254712345678', metadata: { tier: 'gold' } }, data: CUSTOMER_EXAMPLE },
      handle: async ({ merchant, params, body }) =>
        ok('Customer changed.', toCustomer(await updateCustomer(app, merchant, params.uuid, body))),
    }),
  ]
}

function blockRoutes(app: CustomersApp): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/customers/{uuid}/block',
      tag: 'Customer',
      scope: 'customers:write',
      operationId: 'customers.block',
      summary: 'Block a customer',
      description:
        'From now on the customer can neither pay nor be charged: 422 customer_blocked. An attempt in progress continues, and you receive the money that it collects.',
      params: UuidParams,
      body: BlockCustomerBody,
      response: { http: 200, data: CustomerRecord },
      errors: ['validation_failed', 'invalid_uuid', 'customer_not_found', 'card_data_not_allowed'],
      examples: { body: { reason: 'Two chargebacks in March' } },
      handle: async ({ merchant, params, body, idempotencyKey }) => {
        const blocked = await blockCustomer(app, merchant, params.uuid, body.reason, idempotencyKey)
        return ok('Customer blocked.', toCustomer(blocked.record), blocked.replayed)
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/customers/{uuid}/unblock',
      tag: 'Customer',
      scope: 'customers:write',
      operationId: 'customers.unblock',
      summary: 'Unblock a customer',
      description: 'From now on the customer can pay and be charged again. A repeat changes nothing.',
      params: UuidParams,
      response: { http: 200, data: CustomerRecord },
      errors: ['invalid_uuid', 'customer_not_found'],
      examples: { data: CUSTOMER_EXAMPLE },
      handle: async ({ merchant, params, idempotencyKey }) => {
        const { record, replayed } = await unblockCustomer(app, merchant, params.uuid, idempotencyKey)
        return ok('Customer unblocked.', toCustomer(record), replayed)
      },
    }),
  ]
}

const MethodParams = Type.Object({
  uuid: described(UuidInput, 'The uuid of the customer.'),
  methodUuid: described(UuidInput, 'The uuid of the saved payment method.'),
})

function methodRoutes(app: CustomersApp): Route[] {
  return [
    route({
      method: 'DELETE',
      path: '/api/v1/customers/{uuid}/payment-methods/{methodUuid}',
      tag: 'Customer',
      scope: 'customers:write',
      operationId: 'paymentMethods.revoke',
      summary: 'Revoke a saved payment method',
      description:
        'Charges with its token fail with recurring_token_inactive permanently; the same card saved again has another token. If it was the default, the method that was used last becomes the default. A repeat returns the same record.',
      params: MethodParams,
      response: { http: 200, data: SavedMethodRecord },
      errors: ['invalid_uuid', 'customer_not_found', 'payment_method_not_found'],
      handle: async ({ merchant, params }) =>
        ok('Payment method revoked.', await revokeMethod(app, merchant, params.uuid, params.methodUuid)),
    }),
    route({
      method: 'POST',
      path: '/api/v1/customers/{uuid}/payment-methods/{methodUuid}/default',
      tag: 'Customer',
      scope: 'customers:write',
      operationId: 'paymentMethods.setDefault',
      summary: 'Make a saved payment method the default',
      description: 'A customer has one default. A revoked or expired method cannot be the default.',
      params: MethodParams,
      response: { http: 200, data: SavedMethodRecord },
      errors: ['invalid_uuid', 'customer_not_found', 'payment_method_not_found', 'invalid_state'],
      examples: { data: METHOD_EXAMPLE },
      handle: async ({ merchant, params, idempotencyKey }) => {
        const { uuid, methodUuid } = params
        const { record, replayed } = await makeDefault(app, merchant, uuid, methodUuid, idempotencyKey)
        return ok('Default changed.', record, replayed)
      },
    }),
  ]
}
