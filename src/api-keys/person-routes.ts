// What people do with the keys that were created with another key. The API has the single keys.

import { ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import type { KeyRow } from './api-key.ts'
import { listCreatedKeys, revokeCreatedKeyRows } from './created-keys-queries.ts'
import { KeyParams } from './schema.ts'
import { requireSelfServiceKey, type SelfServiceKeysApp } from './self-service.ts'
import { lockKeysOfMerchant } from './self-service-queries.ts'
import { serializeSelfServiceKey } from './view.ts'

const PATH = '/app/developers/keys/{keyId}/created'

export function createdKeyRoutes(app: SelfServiceKeysApp): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: PATH,
      scope: 'keys:read',
      operationId: 'apiKeys.listCreated',
      params: KeyParams,
      handle: async ({ merchant, principal, params: { keyId } }) => {
        await requireSelfServiceKey(app, merchant, keyId)
        const keys = await listCreatedKeys(app.instanceDb, merchant.id, keyId, app.clock.now())
        const records = keys.map(({ isSuccessor, ...key }) => ({
          ...serializeSelfServiceKey(key, app.clock, principal),
          isSuccessor,
        }))
        return ok('Keys that were created with it.', records)
      },
    }),
    personRoute({
      method: 'POST',
      path: `${PATH}/revoke`,
      scope: 'keys:write',
      operationId: 'apiKeys.revokeCreated',
      params: KeyParams,
      handle: async ({ merchant, principal, params: { keyId } }) => {
        await requireSelfServiceKey(app, merchant, keyId)
        const keys = await revokeCreatedKeys(app, merchant.id, keyId)
        return ok(
          'Revoked.',
          keys.map((key) => serializeSelfServiceKey(key, app.clock, principal)),
        )
      },
    }),
  ]
}

/** No key is created meanwhile: a key that is about to be revoked cannot leave another one behind. */
function revokeCreatedKeys(app: SelfServiceKeysApp, merchantId: string, keyId: string): Promise<KeyRow[]> {
  return app.instanceDb.transaction(async (tx) => {
    await lockKeysOfMerchant(tx, merchantId)
    return revokeCreatedKeyRows(tx, merchantId, keyId, app.clock.now())
  })
}
