// Authentication: resolves the text of an API key to its merchant. Each process caches keys for a few seconds and refreshes
// those in use in batches, outside the requests. The TTL bounds how long a revoked key or a suspended merchant still works.

import { hash } from 'node:crypto'
import type { BlockList } from 'node:net'
import { ApiError } from '../core/errors.ts'
import type { GrantedScope, Merchant, Mode } from '../core/merchant.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import { type Cache, createCache } from '../kit/cache.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import { constantTimeEquals } from '../kit/crypto.ts'
import { createBatcher, defaultLinger } from '../kit/db/batch.ts'
import type { Tx } from '../kit/db/db.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import { allowsAddress, buildAddressList } from './addresses.ts'
import { rateLimitOf } from './api-key.ts'
import { claimedMode, hashSecret, parseApiKey } from './key-format.ts'

import { findKeyOwners, type KeyOwnerRow, touchKey } from './queries.ts'

export interface Authenticated {
  merchant: Merchant
  keyId: string
  scopes: readonly GrantedScope[]
  /** The key's own rate limit; null: that of the service. */
  rateLimit: RateLimit | null
}

interface Needs {
  instanceDb: Tx
  clock: Clock
  log: Log
  mode: Mode
  keyPepper: Uint8Array
  keyCache: KeyCache
}

interface CachedKey {
  row: KeyOwnerRow
  addresses: BlockList | undefined
  authenticated: Authenticated
  /** True when this process has already saved the last-used time for this cache entry. */
  isTouched: boolean
  /** The digest of the right secret, after it was presented. The secret is random, so no digest reveals it. */
  verifiedDigest?: string
}

/** Unknown ids are cached as well, so that they cost the same as known ones. */
export type KeyCache = Cache<CachedKey | undefined>

// A revocation must take effect within 5 s in every process. An entry ages from the start of its lookup, so a TTL of 3 s
// leaves time for a request in progress.
const KEY_TTL_MS = 3_000

// Ten thousand entries take a few megabytes.
const MAX_ENTRIES = 10_000

const KEY_BATCH_SIZE = 200

export function createKeyCache(
  { instanceDb, clock }: Pick<Needs, 'instanceDb' | 'clock'>,
  { maxEntries = MAX_ENTRIES, refreshUntil }: { maxEntries?: number; refreshUntil?: AbortSignal } = {},
): KeyCache {
  // Concurrent cache misses share one statement.
  const find = createBatcher({
    run: (keyIds: readonly string[]) => findKeyOwners(instanceDb, keyIds),
    maxSize: KEY_BATCH_SIZE,
    // A flood of unknown keys occupies at most two connections.
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
  // The checksum of a key is public, so reporting a typo reveals nothing about existing keys.
  if (!presented) throw new ApiError('invalid_api_key', { message: malformedMessage(request.apiKey) })

  const cached = await app.keyCache.get(presented.id)
  if (!hasSecret(app, cached, presented.secret) || !cached) throw new ApiError('invalid_api_key')

  assertKeyActive(cached, app.clock.now(), request.ip)
  recordUse(app, cached)
  return cached.authenticated
}

/** A right secret is checked once for each entry of the cache, and recognized by its digest from then on. */
function hasSecret({ keyPepper }: Needs, cached: CachedKey | undefined, secret: string): boolean {
  const digest = hash('sha256', secret)
  if (cached?.verifiedDigest === digest) return true
  // An unknown id costs the same work, so the response time does not reveal which ids exist.
  const matches = constantTimeEquals(hashSecret(keyPepper, secret), cached?.row.secretHash ?? DUMMY_HASH)
  if (cached && matches) cached.verifiedDigest = digest
  return matches
}

/** Whether a rejected key was a guess at a secret, and not a typo that the checksum reveals offline. */
export function isSecretGuess(error: ApiError): boolean {
  return error.code === 'invalid_api_key' && !MALFORMED_MESSAGES.includes(error.message)
}

const MALFORMED_MESSAGE =
  'The API key is incomplete or mistyped; copy it again, from cowry_ to its last character.'
const SCHEME_MESSAGE = 'Send the API key alone in the x-api-key header, without “Bearer” before it.'
const MALFORMED_MESSAGES = [MALFORMED_MESSAGE, SCHEME_MESSAGE]

function malformedMessage(apiKey: string): string {
  return /^(?:Bearer|Basic|Token)\b/i.test(apiKey.trim()) ? SCHEME_MESSAGE : MALFORMED_MESSAGE
}

const DUMMY_HASH = Buffer.alloc(32)

function modeMismatchMessage(claimed: Mode): string {
  return claimed === 'live'
    ? 'This is a live key and this is the staging environment; use a cowry_test_ key here.'
    : 'This is a test key and this is the production environment; use a cowry_live_ key here.'
}

/** Checked on every request: an expiry must not wait for the cache. */
function assertKeyActive({ row, addresses }: CachedKey, now: Date, ip: string): void {
  if (row.revokedAt) throw new ApiError('api_key_revoked')
  if (row.expiresAt && row.expiresAt <= now) throw new ApiError('api_key_expired')
  if (row.merchantStatus === 'suspended') throw new ApiError('merchant_suspended')
  if (!allowsAddress(addresses, ip)) {
    const message = `The API key may not be used from ${ip}, the address that this request came from.`
    throw new ApiError('ip_not_allowed', { message })
  }
}

function toCachedKey(row: KeyOwnerRow | undefined): CachedKey | undefined {
  if (!row) return undefined
  const authenticated: Authenticated = {
    merchant: {
      id: row.merchantId,
      name: row.merchantName,
      mode: row.mode,
      baseCurrency: row.baseCurrency,
    },
    keyId: row.keyId,
    // A boundary: the schema rejects unknown scopes before they are stored.
    scopes: row.scopes as GrantedScope[],
    rateLimit: rateLimitOf(row),
  }
  return { row, addresses: buildAddressList(row.allowedIps), authenticated, isTouched: false }
}

const TOUCH_INTERVAL_MS = 60_000

/**
 * Saves the last-used time at most once a minute, without delaying the request. The stored time limits the writes of all
 * processes together, so a failed write is due again when the row is next read.
 */
function recordUse(app: Needs, cached: CachedKey): void {
  const now = app.clock.now()
  const due = addMs(now, -TOUCH_INTERVAL_MS)
  if (cached.isTouched || (cached.row.lastUsedAt && cached.row.lastUsedAt >= due)) return
  cached.isTouched = true
  const { merchantId, keyId } = cached.row
  touchKey(app.instanceDb, merchantId, keyId, { usedAt: now, unlessAfter: due }).catch((error: unknown) => {
    app.log.write('api_key.last_used_not_saved', { merchantId, keyId, ...errorFields(error) })
  })
}
