// The operators' routes over API keys, under /admin/v1.

import type { Clock } from '../kit/clock.ts'
import { created, listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { ListQuery } from '../merchants/operator-list.ts'
import { CREATED_MERCHANT_KEY_EXAMPLE, MERCHANT_KEY_BODY_EXAMPLE, MERCHANT_KEY_EXAMPLE } from './examples.ts'
import { CreatedKeyRecord, CreateKeyBody, KeyParams, KeyRecord, RotateKeyBody } from './schema.ts'
import {
  type ApiKeysApp,
  type CreatedKey,
  createKey,
  listKeys,
  requireKeyOwner,
  revokeKey,
  rotateKey,
} from './service.ts'
import { serializeKey } from './view.ts'

export const operatorKeyRoutes = (app: ApiKeysApp): OperatorRoute[] => [
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/merchants/{uuid}/keys',
    operationId: 'apiKeys.create',
    summary: 'Create an API key; it is shown only in this response',
    description:
      'Give it to the merchant: only a hash of it is stored. Without scopes it has all but those of API keys.',
    params: UuidParams,
    body: CreateKeyBody,
    response: { http: 201, data: CreatedKeyRecord },
    errors: ['merchant_not_found', 'mode_mismatch'],
    examples: { body: MERCHANT_KEY_BODY_EXAMPLE, data: CREATED_MERCHANT_KEY_EXAMPLE },
    handle: async ({ params, body }) =>
      created(KEY_CREATED_MESSAGE, serializeCreatedKey(await createKey(app, params.uuid, body), app.clock)),
  }),
  operatorRoute({
    method: 'GET',
    path: '/admin/v1/merchants/{uuid}/keys',
    operationId: 'apiKeys.list',
    summary: 'List the API keys of a merchant, newest first',
    description: 'Including revoked and expired keys, without the keys themselves.',
    params: UuidParams,
    query: ListQuery,
    response: { http: 200, data: KeyRecord, list: true },
    errors: ['merchant_not_found'],
    examples: { data: MERCHANT_KEY_EXAMPLE },
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
    operationId: 'apiKeys.rotate',
    summary: 'Replace an API key; the old one works until the overlap is over',
    description: 'Creates a key with the same rights, which is shown only in this response.',
    params: KeyParams,
    body: RotateKeyBody,
    response: { http: 201, data: CreatedKeyRecord },
    errors: ['api_key_not_found', 'invalid_state'],
    examples: { body: { overlapHours: 24 } },
    handle: async ({ params, body }) => {
      const merchantId = await requireKeyOwner(app, params.keyId)
      const fresh = await rotateKey(app, merchantId, params.keyId, body?.overlapHours)
      return created(KEY_CREATED_MESSAGE, serializeCreatedKey(fresh, app.clock))
    },
  }),
  operatorRoute({
    method: 'POST',
    path: '/admin/v1/keys/{keyId}/revoke',
    operationId: 'apiKeys.revoke',
    summary: 'Revoke an API key permanently',
    description: 'Every process refuses it within 5 seconds. A repeat changes nothing.',
    params: KeyParams,
    response: { http: 200, data: KeyRecord },
    errors: ['api_key_not_found'],
    handle: async ({ params }) => {
      const merchantId = await requireKeyOwner(app, params.keyId)
      return ok('API key revoked.', serializeKey(await revokeKey(app, merchantId, params.keyId), app.clock))
    },
  }),
]

const KEY_CREATED_MESSAGE = 'API key created. Store it now: it is not shown again.'

const serializeCreatedKey = ({ key, apiKey }: CreatedKey, clock: Clock) => ({
  ...serializeKey(key, clock),
  apiKey,
})
