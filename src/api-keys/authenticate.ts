// Who is asking: from the text of a key to a merchant. Each process remembers keys for a few seconds and reads those in use
// anew beside the requests, many at once. The memory is short on purpose: it is what bounds how long a revoked key or a
// suspended merchant goes on.

import type { BlockList } from 'node:net'
import { ApiError } from '../core/errors.ts'
import type { GrantedScope, Merchant, Mode } from '../core/merchant.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import { createBatcher, defaultLinger } from '../kit/batch.ts'
import { type Cache, createCache } from '../kit/cache.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import { constantTimeEquals } from '../kit/crypto.ts'
import type { Tx } from '../kit/db.ts'
import { errorFields, type Log } from '../kit/log.ts'
import { allowsAddress, buildAddressList } from './addresses.ts'
import { rateLimitOf } from './api-key.ts'
import { claimedMode, hashSecret, parseApiKey } from './key-format.ts'

import { findKeyOwners, type KeyOwnerRow, touchKey } from './queries.ts'

export interface Authenticated {
  merchant: Merchant
  keyId: string
  scopes: readonly GrantedScope[]
  /** The key's own limit; null: that of the service. */
  rateLimit: RateLimit | null
}

interface Needs {
  db: Tx
  clock: Clock
  log: Log
  mode: Mode
  keyPepper: Uint8Array
  keyCache: KeyCache
}

interface CachedKey {
  row: KeyOwnerRow
  addresses: BlockList | undefined
  answer: Authenticated
  /** Set when this reading of the row has led to a write of the time of use. */
  isTouched: boolean
}

/** Unknown ids are remembered too, so that they cost what known ones cost. */
export type KeyCache = Cache<CachedKey | undefined>

// Revocation must be in force within 5 s in every process. An entry ages from the start of its lookup, so 3 s leave
// time for the request that is under way.
const KEY_TTL_MS = 3_000

// Ten thousand are a few megabytes.
const MAX_ENTRIES = 10_000

const KEY_BATCH_SIZE = 200

export function createKeyCache(
  { db, clock }: Pick<Needs, 'db' | 'clock'>,
  { maxEntries = MAX_ENTRIES, refreshUntil }: { maxEntries?: number; refreshUntil?: AbortSignal } = {},
): KeyCache {
  // Those that miss at the same moment ask together.
  const find = createBatcher({
    run: (keyIds: readonly string[]) => findKeyOwners(db, keyIds),
    maxSize: KEY_BATCH_SIZE,
    // A flood of keys that nobody has keeps two connections busy, and no more.
    concurrency: 2,
    shouldSplit: () => false,
    linger: defaultLinger(clock),
  })
  return createCache({
    clock,
    ttlMs: KEY_TTL_MS,
    maxEntries,
    load: async (keyId) => toCachedKey(await find(keyId)),
    refreshUntil,
  })
}

export async function authenticate(
  app: Needs,
  request: { apiKey: string | undefined; ip: string },
): Promise<Authenticated> {
  if (!request.apiKey) throw new ApiError('missing_api_key')
  const claimed = claimedMode(request.apiKey)
  if (claimed && claimed !== app.mode)
    throw new ApiError('mode_mismatch', { message: modeMismatchMessage(claimed) })
  const presented = parseApiKey(request.apiKey)
  // Anybody can compute the check of a key, so telling a typo apart tells nothing about what keys there are.
  if (!presented) throw new ApiError('invalid_api_key', { message: MALFORMED_MESSAGE })

  const cached = await app.keyCache.get(presented.id)
  // The same work for an id that does not exist, so that the time does not tell which ids do.
  const matches = constantTimeEquals(
    hashSecret(app.keyPepper, presented.secret),
    cached?.row.secretHash ?? DUMMY_HASH,
  )
  if (!cached || !matches) throw new ApiError('invalid_api_key')

  assertKeyActive(cached, app.clock.now(), request.ip)
  recordUse(app, cached)
  return cached.answer
}

/** Whether a refused key was a try at a secret, rather than a typo that anybody can see offline. */
export function isSecretGuess(error: ApiError): boolean {
  return error.code === 'invalid_api_key' && error.message !== MALFORMED_MESSAGE
}

const MALFORMED_MESSAGE =
  'The API key is incomplete or mistyped; copy it again, from cowry_ to its last character.'
const DUMMY_HASH = Buffer.alloc(32)

function modeMismatchMessage(claimed: Mode): string {
  return claimed === 'live'
    ? 'This is a live key and this is the staging environment; use a cowry_test_ key here.'
    : 'This is a test key and this is the production environment; use a cowry_live_ key here.'
}

/** Decided anew on every request: an expiry must not wait for a cache. */
function assertKeyActive({ row, addresses }: CachedKey, now: Date, ip: string): void {
  if (row.revokedAt) throw new ApiError('api_key_revoked')
  if (row.expiresAt && row.expiresAt <= now) throw new ApiError('api_key_expired')
  if (row.merchantStatus === 'suspended') throw new ApiError('merchant_suspended')
  if (!allowsAddress(addresses, ip)) throw new ApiError('ip_not_allowed')
}

function toCachedKey(row: KeyOwnerRow | undefined): CachedKey | undefined {
  if (!row) return undefined
  const answer: Authenticated = {
    merchant: {
      id: row.merchantId,
      name: row.merchantName,
      mode: row.mode,
      baseCurrency: row.baseCurrency,
    },
    keyId: row.keyId,
    // A boundary: only scopes that the schema knows are ever stored.
    scopes: row.scopes as GrantedScope[],
    rateLimit: rateLimitOf(row),
  }
  return { row, addresses: buildAddressList(row.allowedIps), answer, isTouched: false }
}

const TOUCH_INTERVAL_MS = 60_000

/**
 * Writes the time of use at most once a minute and off the request's path. The stored time itself says when the last
 * write was, over all processes, so a write that failed is simply due again with the next reading of the row.
 */
function recordUse(app: Needs, cached: CachedKey): void {
  const now = app.clock.now()
  const due = addMs(now, -TOUCH_INTERVAL_MS)
  if (cached.isTouched || (cached.row.lastUsedAt && cached.row.lastUsedAt >= due)) return
  cached.isTouched = true
  const { merchantId, keyId } = cached.row
  touchKey(app.db, merchantId, keyId, { usedAt: now, unlessAfter: due }).catch((error: unknown) => {
    app.log.write('api_key.last_used_not_saved', { merchantId, keyId, ...errorFields(error) })
  })
}
