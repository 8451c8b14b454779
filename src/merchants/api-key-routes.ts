// What a merchant does with its own keys, under /api/v1/api-keys.

import { REPLAYED } from '../kit/idempotency.ts'
import { type Answer, created, listed, ok, type Route, route } from '../kit/route.ts'
import { CREATED_KEY_EXAMPLE, KEY_EXAMPLE, REVOKED_KEY_EXAMPLE } from './examples.ts'
import { showOwnKey } from './key-view.ts'
import {
  createOwnKey,
  listOwnKeys,
  MAX_LIVE_KEYS,
  type MadeKey,
  type OwnKeysApp,
  requireOwnKey,
  revokeOwnKey,
  rotateOwnKey,
} from './own-keys.ts'
import {
  CreatedOwnKeyRecord,
  CreateOwnKeyBody,
  KeyParams,
  OwnKeyRecord,
  OwnKeysQuery,
  RevokeOwnKeyBody,
  RotateKeyBody,
} from './schema.ts'

const PATH = '/api/v1/api-keys'
const COMMON = { tag: 'API keys', scope: 'keys:write' } as const

export function apiKeyRoutes(app: OwnKeysApp): Route[] {
  return [...readingRoutes(app), ...makingRoutes(app), revokingRoute(app)]
}

const readingRoutes = (app: OwnKeysApp): Route[] => [
  route({
    ...COMMON,
    method: 'GET',
    path: PATH,
    summary: 'List your API keys',
    description: 'Newest first, also those that have ended. The keys themselves are never shown again.',
    query: OwnKeysQuery,
    answer: { http: 200, data: OwnKeyRecord, list: true },
    refusals: ['validation_failed'],
    examples: { data: [KEY_EXAMPLE] },
    handle: async ({ merchant, keyId, query }) => {
      const { keys, meta } = await listOwnKeys(app, merchant, query)
      const records = keys.map((key) => showOwnKey(key, app.clock, keyId))
      return listed('API keys retrieved.', records, meta)
    },
  }),
  route({
    ...COMMON,
    method: 'GET',
    path: `${PATH}/{keyId}`,
    summary: 'Get an API key',
    params: KeyParams,
    answer: { http: 200, data: OwnKeyRecord },
    refusals: ['validation_failed', 'api_key_not_found'],
    examples: { data: KEY_EXAMPLE },
    handle: async ({ merchant, keyId, params }) => {
      const key = await requireOwnKey(app, merchant, params.keyId)
      return ok('API key retrieved.', showOwnKey(key, app.clock, keyId))
    },
  }),
]

const makingRoutes = (app: OwnKeysApp): Route[] => [
  route({
    ...COMMON,
    method: 'POST',
    path: PATH,
    summary: 'Create an API key',
    description: `The answer is the only place where the key is shown. A key gives only what it has itself: its scopes, its addresses, its time and its pace; what you do not name is taken over from it. There may be ${MAX_LIVE_KEYS} live keys. Sent again with the same \`Idempotency-Key\` it answers the record with \`apiKey\` null: if the key was lost on its way, revoke it and create another.`,
    body: CreateOwnKeyBody,
    answer: { http: 201, data: CreatedOwnKeyRecord },
    refusals: ['beyond_own_rights', 'too_many_api_keys', 'invalid_state', 'card_data_not_allowed'],
    examples: {
      body: {
        name: 'Nightly report',
        scopes: ['checkout:read', 'customers:read'],
        expiresAt: '2027-03-14T00:00:00.000Z',
        allowedIps: ['203.0.113.0/24'],
      },
      data: CREATED_KEY_EXAMPLE,
    },
    handle: async ({ body, ...asking }) => {
      const { record, replayed } = await createOwnKey(app, asking, body)
      return answerMade(app, asking.keyId, record, replayed)
    },
  }),
  route({
    ...COMMON,
    method: 'POST',
    path: `${PATH}/{keyId}/rotate`,
    summary: 'Replace an API key',
    description:
      'Makes a key with the same rights, shown in this answer only. The old one works for `overlapHours` more (0 to 168, 24 if not named). A key can replace itself and every key that may do no more than it does. Sent again with the same `Idempotency-Key` it answers the record with `apiKey` null.',
    params: KeyParams,
    body: RotateKeyBody,
    answer: { http: 201, data: CreatedOwnKeyRecord },
    refusals: ['api_key_not_found', 'invalid_state', 'beyond_own_rights', 'too_many_api_keys'],
    examples: { body: { overlapHours: 24 }, data: CREATED_KEY_EXAMPLE },
    handle: async ({ params, body, ...asking }) => {
      const { record, replayed } = await rotateOwnKey(app, asking, params.keyId, body?.overlapHours)
      return answerMade(app, asking.keyId, record, replayed)
    },
  }),
]

const revokingRoute = (app: OwnKeysApp): Route =>
  route({
    ...COMMON,
    method: 'POST',
    path: `${PATH}/{keyId}/revoke`,
    summary: 'End an API key for good',
    description:
      'In force everywhere within 5 seconds; a repeat changes nothing. Any key of yours can be ended, also one that may do more than the one that asks. The key that asks ends itself only with `confirmSelf`.',
    params: KeyParams,
    body: RevokeOwnKeyBody,
    answer: { http: 200, data: OwnKeyRecord },
    refusals: ['api_key_not_found', 'invalid_state'],
    examples: { body: { confirmSelf: false }, data: REVOKED_KEY_EXAMPLE },
    handle: async ({ params, body, ...asking }) => {
      const { record, replayed } = await revokeOwnKey(app, asking, params.keyId, body?.confirmSelf ?? false)
      const shown = showOwnKey(record, app.clock, asking.keyId)
      return ok('API key revoked.', shown, replayed ? REPLAYED : undefined)
    },
  })

function answerMade(app: OwnKeysApp, keyId: string, { key, apiKey }: MadeKey, replayed: boolean): Answer {
  const data = { ...showOwnKey(key, app.clock, keyId), apiKey }
  return replayed ? created(SHOWN_BEFORE, data, REPLAYED) : created(SHOWN_ONCE, data)
}

const SHOWN_ONCE = 'API key created. Store it now: it is not shown again.'
const SHOWN_BEFORE =
  'This Idempotency-Key made this API key before. The key was shown then and is not shown again; if it was lost, revoke it and create another.'
