// Serializes an API key for operators and for its merchant, without the secret.

import type { Static } from 'typebox'
import type { Principal } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import { type KeyRow, rateLimitOf } from './api-key.ts'
import { maskApiKey } from './key-format.ts'

import type { KeyRecord, SelfServiceKeyRecord } from './schema.ts'

export function serializeKey(key: KeyRow, clock: Clock): Static<typeof KeyRecord> {
  const isExpired = key.expiresAt !== null && key.expiresAt <= clock.now()
  return {
    keyId: key.keyId,
    merchantUuid: key.merchantId,
    name: key.name,
    prefix: maskApiKey(key.mode, key.keyId),
    mode: key.mode,
    // A boundary: the schema rejects unknown scopes before they are stored.
    scopes: key.scopes as Static<typeof KeyRecord>['scopes'],
    allowedIps: key.allowedIps,
    rateLimit: rateLimitOf(key),
    status: key.revokedAt ? 'revoked' : isExpired ? 'expired' : 'active',
    replacedBy: key.replacedBy,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
  }
}

/** For the key's own merchant, as seen by this caller. */
export function serializeSelfServiceKey(
  key: KeyRow,
  clock: Clock,
  caller: Principal,
): Static<typeof SelfServiceKeyRecord> {
  const { merchantUuid: _, ...record } = serializeKey(key, clock)
  return { ...record, isCurrent: caller.type === 'api_key' && key.keyId === caller.id }
}
