// An API key as operators and its merchant see it: everything but the secret.

import type { Static } from 'typebox'
import type { Clock } from '../kit/clock.ts'
import { maskApiKey } from './keys.ts'
import type { KeyRow } from './queries.ts'
import type { KeyRecord, OwnKeyRecord } from './schema.ts'

export function showKey(key: KeyRow, clock: Clock): Static<typeof KeyRecord> {
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
export function showOwnKey(key: KeyRow, clock: Clock, askingKeyId: string): Static<typeof OwnKeyRecord> {
  const { merchantUuid: _, ...record } = showKey(key, clock)
  return { ...record, isCurrent: key.key_id === askingKeyId }
}
