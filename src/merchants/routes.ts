// The operators' routes over merchants, under /admin/v1. Those over API keys are in api-keys/operator-routes.ts.

import { type Static, Type } from 'typebox'
import { created, listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
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
    summary: 'Create a merchant',
    body: CreateMerchantBody,
    response: { http: 201, data: MerchantRecord },
    errors: [],
    handle: async ({ body }) =>
      created('Merchant created.', serializeMerchant(await createMerchant(app, body))),
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants',
    summary: 'List merchants, newest first',
    query: ListQuery,
    response: { http: 200, data: MerchantRecord, list: true },
    errors: [],
    handle: async ({ query }) => {
      const { items, meta } = await listMerchants(app, query)
      return listed('Merchants.', items.map(serializeMerchant), meta)
    },
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants/{uuid}',
    summary: 'Read a merchant',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) => ok('Merchant.', serializeMerchant(await requireMerchant(app, params.uuid))),
  }),
  operatorRoute({
    method: 'PATCH',
    path: '/admin/v1/merchants/{uuid}',
    summary: 'Change the name, base currency or settings of a merchant',
    params: UuidParams,
    body: UpdateMerchantBody,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params, body }) =>
      ok('Merchant changed.', serializeMerchant(await updateMerchant(app, params.uuid, body))),
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants/{uuid}/suspend',
    summary: 'Suspend a merchant: all its keys stop working',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) =>
      ok('Merchant suspended.', serializeMerchant(await suspendMerchant(app, params.uuid))),
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants/{uuid}/activate',
    summary: 'Activate a suspended merchant',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) =>
      ok('Merchant activated.', serializeMerchant(await activateMerchant(app, params.uuid))),
  }),
]

const invariantsRoute = (checkInvariants: () => Promise<Invariant[]>): OperatorRoute =>
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/invariants',
    summary: 'Check the invariants of the money; each count must be 0',
    response: { http: 200, data: Type.Array(InvariantRecord) },
    errors: [],
    handle: async () => ok('Invariants.', await checkInvariants()),
  })

const serializeMerchant = ({ id, ...merchant }: ManagedMerchant) => ({
  uuid: id,
  ...merchant,
  createdAt: merchant.createdAt.toISOString(),
  updatedAt: merchant.updatedAt.toISOString(),
})
