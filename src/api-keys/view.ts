// An API key as operators and its merchant see it: everything but the secret.

import type { Static } from 'typebox'
import type { Clock } from '../kit/clock.ts'
import type { KeyRow } from './api-key.ts'
import { maskApiKey } from './key-format.ts'

import type { KeyRecord, SelfServiceKeyRecord } from './schema.ts'

export function serializeKey(key: KeyRow, clock: Clock): Static<typeof KeyRecord> {
  const isExpired = key.expires_at !== null && key.expires_at <= clock.now()
  return {
    keyId: key.key_id,
    merchantUuid: key.merchant_id,
    name: key.name,
    prefix: maskApiKey(key.mode, key.key_id),
    mode: key.mode,
    // A boundary: only scopes that the schema knows are ever stored.
    scopes: key.scopes as Static<typeof KeyRecord>['scopes'],
    allowedIps: key.allowed_ips,
    rateLimit:
      key.rate_per_second !== null && key.rate_burst !== null
        ? { perSecond: key.rate_per_second, burst: key.rate_burst }
        : null,
    status: key.revoked_at ? 'revoked' : isExpired ? 'expired' : 'active',
    replacedBy: key.replaced_by,
    createdAt: key.created_at.toISOString(),
    expiresAt: key.expires_at?.toISOString() ?? null,
    lastUsedAt: key.last_used_at?.toISOString() ?? null,
    revokedAt: key.revoked_at?.toISOString() ?? null,
  }
}

/** To its own merchant, who asks by one of its keys. */
export function serializeSelfServiceKey(
  key: KeyRow,
  clock: Clock,
  callerKeyId: string,
): Static<typeof SelfServiceKeyRecord> {
  const { merchantUuid: _, ...record } = serializeKey(key, clock)
  return { ...record, isCurrent: key.key_id === callerKeyId }
}
