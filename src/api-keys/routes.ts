// Self-service: a merchant manages its own API keys under /api/v1/api-keys.

import type { Principal } from '../core/merchant.ts'
import { created, listed, ok, type Route, type RouteResponse, route } from '../kit/http/route.ts'
import { CREATED_KEY_EXAMPLE, KEY_EXAMPLE } from './examples.ts'
import {
  CreatedSelfServiceKeyRecord,
  CreateSelfServiceKeyBody,
  KeyParams,
  RevokeSelfServiceKeyBody,
  RotateKeyBody,
  SelfServiceKeyRecord,
  SelfServiceKeysQuery,
} from './schema.ts'
import {
  createSelfServiceKey,
  type IssuedKey,
  listSelfServiceKeys,
  MAX_LIVE_KEYS,
  requireSelfServiceKey,
  revokeSelfServiceKey,
  rotateSelfServiceKey,
  type SelfServiceKeysApp,
} from './self-service.ts'
import { serializeSelfServiceKey } from './view.ts'

const PATH = '/api/v1/api-keys'
const COMMON = { tag: 'API keys', scope: 'keys:write' } as const

export function apiKeyRoutes(app: SelfServiceKeysApp): Route[] {
  return [...readRoutes(app), ...createRoutes(app), revokeRoute(app)]
}

const readRoutes = (app: SelfServiceKeysApp): Route[] => [
  route({
    ...COMMON,
    scope: 'keys:read',
    method: 'GET',
    path: PATH,
    operationId: 'apiKeys.list',
    summary: 'List your API keys',
    description:
      'Newest first, including revoked and expired keys. The keys themselves are never shown again.',
    query: SelfServiceKeysQuery,
    response: { http: 200, data: SelfServiceKeyRecord, list: true },
    errors: ['validation_failed'],
    examples: { data: [KEY_EXAMPLE] },
    handle: async ({ merchant, principal, query }) => {
      const { keys, meta } = await listSelfServiceKeys(app, merchant, query)
      const records = keys.map((key) => serializeSelfServiceKey(key, app.clock, principal))
      return listed('API keys retrieved.', records, meta)
    },
  }),
  route({
    ...COMMON,
    scope: 'keys:read',
    method: 'GET',
    path: `${PATH}/{keyId}`,
    operationId: 'apiKeys.get',
    summary: 'Get an API key',
    description:
      'The record of a key: its rights, and when it was last used. The key itself is never shown again.',
    params: KeyParams,
    response: { http: 200, data: SelfServiceKeyRecord },
    errors: ['validation_failed', 'api_key_not_found'],
    examples: { data: KEY_EXAMPLE },
    handle: async ({ merchant, principal, params }) => {
      const key = await requireSelfServiceKey(app, merchant, params.keyId)
      return ok('API key retrieved.', serializeSelfServiceKey(key, app.clock, principal))
    },
  }),
]

const createRoutes = (app: SelfServiceKeysApp): Route[] => [
  route({
    ...COMMON,
    method: 'POST',
    path: PATH,
    operationId: 'apiKeys.create',
    summary: 'Create an API key',
    description: `The key is shown only in this response. A key can grant only its own rights: its scopes, addresses, expiry and rate limit; absent fields are copied from it. There may be ${MAX_LIVE_KEYS} live keys. A retry with the same \`Idempotency-Key\` returns the record with \`apiKey\` null: if the response with the key was lost, revoke the key and create another.`,
    body: CreateSelfServiceKeyBody,
    response: { http: 201, data: CreatedSelfServiceKeyRecord },
    errors: ['scope_exceeded', 'too_many_api_keys', 'invalid_state', 'card_data_not_allowed'],
    examples: {
      body: {
        name: 'Nightly report',
        scopes: ['checkout:read', 'customers:read'],
        expiresAt: '2027-03-14T00:00:00.000Z',
        allowedIps: ['203.0.113.0/24'],
      },
      data: CREATED_KEY_EXAMPLE,
    },
    handle: async ({ body, ...caller }) => {
      const { record, replayed } = await createSelfServiceKey(app, caller, body)
      return createdKeyResponse(app, caller.principal, record, replayed)
    },
  }),
  route({
    ...COMMON,
    method: 'POST',
    path: `${PATH}/{keyId}/rotate`,
    operationId: 'apiKeys.rotate',
    summary: 'Rotate an API key',
    description:
      'Creates a key with the same rights, shown only in this response. The old key works for another `overlapHours` (0 to 168, 24 by default). A key can replace itself and every key that has no more rights than it. A retry with the same `Idempotency-Key` returns the record with `apiKey` null.',
    params: KeyParams,
    body: RotateKeyBody,
    response: { http: 201, data: CreatedSelfServiceKeyRecord },
    errors: ['api_key_not_found', 'invalid_state', 'scope_exceeded', 'too_many_api_keys'],
    examples: { body: { overlapHours: 24 }, data: CREATED_KEY_EXAMPLE },
    handle: async ({ params, body, ...caller }) => {
      const { record, replayed } = await rotateSelfServiceKey(app, caller, params.keyId, body?.overlapHours)
      return createdKeyResponse(app, caller.principal, record, replayed)
    },
  }),
]

const revokeRoute = (app: SelfServiceKeysApp): Route =>
  route({
    ...COMMON,
    method: 'POST',
    path: `${PATH}/{keyId}/revoke`,
    operationId: 'apiKeys.revoke',
    summary: 'Revoke an API key permanently',
    description:
      'Takes effect everywhere within 5 seconds; a repeat changes nothing. A key can revoke any of your keys, also one with more rights than its own. It revokes itself only with `confirmSelf`.',
    params: KeyParams,
    body: RevokeSelfServiceKeyBody,
    response: { http: 200, data: SelfServiceKeyRecord },
    errors: ['api_key_not_found', 'invalid_state'],
    examples: { body: { confirmSelf: false } },
    handle: async ({ params, body, ...caller }) => {
      const { record, replayed } = await revokeSelfServiceKey(
        app,
        caller,
        params.keyId,
        body?.confirmSelf ?? false,
      )
      const data = serializeSelfServiceKey(record, app.clock, caller.principal)
      return ok('API key revoked.', data, replayed)
    },
  })

function createdKeyResponse(
  app: SelfServiceKeysApp,
  principal: Principal,
  { key, apiKey }: IssuedKey,
  replayed: boolean,
): RouteResponse {
  const data = { ...serializeSelfServiceKey(key, app.clock, principal), apiKey }
  return created(replayed ? KEY_REPLAYED_MESSAGE : KEY_CREATED_MESSAGE, data, replayed)
}

const KEY_CREATED_MESSAGE = 'API key created. Store it now: it is not shown again.'
const KEY_REPLAYED_MESSAGE =
  'This Idempotency-Key made this API key before. The key was shown then and is not shown again; if it was lost, revoke it and create another.'
