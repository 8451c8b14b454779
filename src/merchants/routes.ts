// What operators do with merchants and keys, under /admin/v1. What a merchant does itself stands in api-key-routes.ts.

import { type Static, Type } from 'typebox'
import type { Clock } from '../kit/clock.ts'
import { created, listed, type OperatorRoute, ok, operatorRoute } from '../kit/route.ts'
import { UuidParams } from '../kit/schema.ts'
import { serializeKey } from './key-view.ts'
import {
  CreatedKeyRecord,
  CreateKeyBody,
  CreateMerchantBody,
  InvariantRecord,
  KeyParams,
  KeyRecord,
  ListQuery,
  MerchantRecord,
  RotateKeyBody,
  UpdateMerchantBody,
} from './schema.ts'
import {
  activateMerchant,
  type CreatedKey,
  createKey,
  createMerchant,
  listKeys,
  listMerchants,
  type ManagedMerchant,
  type Needs,
  requireKeyOwner,
  requireMerchant,
  revokeKey,
  rotateKey,
  suspendMerchant,
  updateMerchant,
} from './service.ts'

type Invariant = Static<typeof InvariantRecord>

/** The invariants are checked by another slice, which hands its function in. */
export function operatorRoutes(
  app: Needs,
  { checkInvariants }: { checkInvariants: () => Promise<Invariant[]> },
): OperatorRoute[] {
  return [...merchantRoutes(app), ...keyRoutes(app), invariantsRoute(checkInvariants)]
}

const merchantRoutes = (app: Needs): OperatorRoute[] => [
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
    summary: 'Stop all keys of a merchant',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) =>
      ok('Merchant suspended.', serializeMerchant(await suspendMerchant(app, params.uuid))),
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants/{uuid}/activate',
    summary: 'Let a suspended merchant work again',
    params: UuidParams,
    response: { http: 200, data: MerchantRecord },
    errors: ['merchant_not_found'],
    handle: async ({ params }) =>
      ok('Merchant activated.', serializeMerchant(await activateMerchant(app, params.uuid))),
  }),
]

const keyRoutes = (app: Needs): OperatorRoute[] => [
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants/{uuid}/keys',
    summary: 'Create an API key; it is shown in this answer only',
    params: UuidParams,
    body: CreateKeyBody,
    response: { http: 201, data: CreatedKeyRecord },
    errors: ['merchant_not_found', 'mode_mismatch'],
    handle: async ({ params, body }) =>
      created(KEY_CREATED_MESSAGE, serializeCreatedKey(await createKey(app, params.uuid, body), app.clock)),
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants/{uuid}/keys',
    summary: 'List the API keys of a merchant, newest first',
    params: UuidParams,
    query: ListQuery,
    response: { http: 200, data: KeyRecord, list: true },
    errors: ['merchant_not_found'],
    handle: async ({ params, query }) => {
      const { items, meta } = await listKeys(app, params.uuid, query)
      return listed(
        'API keys.',
        items.map((key) => serializeKey(key, app.clock)),
        meta,
      )
    },
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/keys/{keyId}/rotate',
    summary: 'Replace an API key; the old one works until the overlap is over',
    params: KeyParams,
    body: RotateKeyBody,
    response: { http: 201, data: CreatedKeyRecord },
    errors: ['api_key_not_found', 'invalid_state'],
    handle: async ({ params, body }) => {
      const merchantId = await requireKeyOwner(app, params.keyId)
      const fresh = await rotateKey(app, merchantId, params.keyId, body?.overlapHours)
      return created(KEY_CREATED_MESSAGE, serializeCreatedKey(fresh, app.clock))
    },
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/keys/{keyId}/revoke',
    summary: 'End an API key at once and for good',
    params: KeyParams,
    response: { http: 200, data: KeyRecord },
    errors: ['api_key_not_found'],
    handle: async ({ params }) => {
      const merchantId = await requireKeyOwner(app, params.keyId)
      return ok('API key revoked.', serializeKey(await revokeKey(app, merchantId, params.keyId), app.clock))
    },
  }),
]

const invariantsRoute = (checkInvariants: () => Promise<Invariant[]>): OperatorRoute =>
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/invariants',
    summary: 'Check what must always be true of the money; each count should be 0',
    response: { http: 200, data: Type.Array(InvariantRecord) },
    errors: [],
    handle: async () => ok('Invariants.', await checkInvariants()),
  })

const KEY_CREATED_MESSAGE = 'API key created. Store it now: it is not shown again.'

const serializeMerchant = ({ id, ...merchant }: ManagedMerchant) => ({
  uuid: id,
  ...merchant,
  createdAt: merchant.createdAt.toISOString(),
  updatedAt: merchant.updatedAt.toISOString(),
})

const serializeCreatedKey = ({ key, apiKey }: CreatedKey, clock: Clock) => ({
  ...serializeKey(key, clock),
  apiKey,
})
