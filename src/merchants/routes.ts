// The operators' routes over merchants, under /admin/v1. Those over API keys are in api-keys/operator-routes.ts.

import { type Static, Type } from 'typebox'
import { created, listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { MERCHANT_BODY_EXAMPLE, MERCHANT_EXAMPLE } from './examples.ts'
import { ListQuery } from './operator-list.ts'
import { CreateMerchantBody, InvariantRecord, MerchantRecord, UpdateMerchantBody } from './schema.ts'
import {
  activateMerchant,
  createMerchant,
  listMerchants,
  type ManagedMerchant,
  type MerchantsApp,
  requireMerchant,
  suspendMerchant,
  updateMerchant,
} from './service.ts'

type Invariant = Static<typeof InvariantRecord>

/** `checkInvariants` is passed in, because it needs a database handle that is not scoped to a tenant. */
export function operatorRoutes(
  app: MerchantsApp,
  { checkInvariants }: { checkInvariants: () => Promise<Invariant[]> },
): OperatorRoute[] {
  return [...merchantRoutes(app), invariantsRoute(checkInvariants)]
}

const merchantRoutes = (app: MerchantsApp): OperatorRoute[] => [
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants',
    operationId: 'merchants.create',
    summary: 'Create a merchant',
    description: 'Creates a merchant in the mode of this instance. Then create its API key.',
    body: CreateMerchantBody,
    response: { http: 201, data: MerchantRecord },
    errors: [],
    examples: { body: MERCHANT_BODY_EXAMPLE, data: MERCHANT_EXAMPLE },
    handle: async ({ body }) =>
      created('Merchant created.', await serialize(app, await createMerchant(app, body))),
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants',
    operationId: 'merchants.list',
    summary: 'List merchants, newest first',
    description: 'By pages, without cursors.',
    query: ListQuery,
    response: { http: 200, data: MerchantRecord, list: true },
    errors: [],
    handle: async ({ query }) => {
      const { items, meta } = await listMerchants(app, query)
      return listed('Merchants.', await serializeAll(app, items), meta)
    },
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants/{uuid}',
    operationId: 'merchants.get',
    summary: 'Get a merchant',
    description: 'With its settings.',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) =>
      ok('Merchant.', await serialize(app, await requireMerchant(app, params.uuid))),
  }),
  operatorRoute({
    method: 'PATCH',
    path: '/admin/v1/merchants/{uuid}',
    operationId: 'merchants.update',
    summary: 'Update the name, base currency or settings of a merchant',
    description:
      'Absent fields and settings stay unchanged; null clears a setting. It takes effect within seconds in every process.',
    params: UuidParams,
    body: UpdateMerchantBody,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    examples: { body: { name: 'Kahawa House Ltd' } },
    handle: async ({ params, body }) =>
      ok('Merchant changed.', await serialize(app, await updateMerchant(app, params.uuid, body))),
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants/{uuid}/suspend',
    operationId: 'merchants.suspend',
    summary: 'Suspend a merchant: all its keys stop working',
    description:
      'It collects nothing from now on, also at open checkouts. Attempts in progress are still resolved. A repeat changes nothing.',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) =>
      ok('Merchant suspended.', await serialize(app, await suspendMerchant(app, params.uuid))),
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants/{uuid}/activate',
    operationId: 'merchants.activate',
    summary: 'Activate a suspended merchant',
    description: 'Its keys work again, and open checkouts can be paid. A repeat changes nothing.',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) =>
      ok('Merchant activated.', await serialize(app, await activateMerchant(app, params.uuid))),
  }),
]

const invariantsRoute = (checkInvariants: () => Promise<Invariant[]>): OperatorRoute =>
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/invariants',
    operationId: 'invariants.check',
    summary: 'Check the invariants of the money; each count must be 0',
    description:
      'Runs every check now, over the whole database, which takes minutes with millions of payments. The same checks run every hour; `GET /admin/v1/jobs` has the result of the last.',
    response: { http: 200, data: Type.Array(InvariantRecord, { description: 'Every invariant.' }) },
    errors: [],
    examples: { data: [{ name: 'invariant_i01_entries_balance', violations: 0 }] },
    handle: async () => ok('Invariants.', await checkInvariants()),
  })

async function serialize(app: MerchantsApp, merchant: ManagedMerchant) {
  return (await serializeAll(app, [merchant]))[0]
}

async function serializeAll({ placement }: MerchantsApp, merchants: readonly ManagedMerchant[]) {
  const cells = await placement?.cellNamesOf(merchants.map(({ id }) => id))
  return merchants.map(({ id, createdAt, updatedAt, ...merchant }, index) => ({
    uuid: id,
    ...merchant,
    ...(cells && { cell: cells[index] }),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }))
}
