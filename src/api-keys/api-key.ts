// An API key as it is stored. The hash of its secret is not part of the row: only the key check reads it.

import type { RateLimit } from '../core/rate-limit.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const API_KEY = columnTable({
  keyId: column<string>('text'),
  merchantId: column<string>('uuid'),
  name: column<string>('text'),
  mode: column<'test' | 'live'>('text'),
  scopes: column<string[]>('text[]'),
  allowedIps: column<string[]>('text[]'),
  ratePerSecond: column<number | null>('integer'),
  rateBurst: column<number | null>('integer'),
  createdAt: column<Date>('timestamptz'),
  expiresAt: column<Date | null>('timestamptz'),
  lastUsedAt: column<Date | null>('timestamptz'),
  revokedAt: column<Date | null>('timestamptz'),
  replacedBy: column<string | null>('text'),
  /** The keys of operators from which it was created or rotated; empty if an operator created it. */
  descendsFrom: column<string[]>('text[]'),
  /** The key that asked for it; null if a person or an operator did. */
  createdByKey: column<string | null>('text'),
})

export const KEY_COLUMNS = API_KEY.select()

export type KeyRow = RowOf<typeof API_KEY>

/** What a key that is created with this one descends from. */
export function originsOf({ keyId, descendsFrom }: Pick<KeyRow, 'keyId' | 'descendsFrom'>): string[] {
  return descendsFrom.length === 0 ? [keyId] : descendsFrom
}

/** The key's own rate limit; null: that of the service. */
export function rateLimitOf({
  ratePerSecond,
  rateBurst,
}: Pick<KeyRow, 'ratePerSecond' | 'rateBurst'>): RateLimit | null {
  return ratePerSecond === null || rateBurst === null ? null : { perSecond: ratePerSecond, burst: rateBurst }
}
