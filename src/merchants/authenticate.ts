// Who is asking: from the text of a key to a merchant, with one SQL read every few seconds per key and process. The
// cache is short-lived on purpose: it is what bounds how long a revoked key or a suspended merchant goes on.

import type { BlockList } from 'node:net'
import { Refusal } from '../core/errors.ts'
import type { GrantedScope, Merchant, Mode } from '../core/merchant.ts'
import { createBatcher, patienceOf } from '../kit/batch.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import { sameBytes } from '../kit/crypto.ts'
import type { Tx } from '../kit/db.ts'
import { errorFields, type Log } from '../kit/log.ts'
import { allowsAddress, buildAddressList } from './addresses.ts'
import { claimedMode, hashSecret, parseApiKey } from './keys.ts'
import { findKeyOwners, type KeyOwnerRow, touchKey } from './queries.ts'

export interface Authenticated {
  merchant: Merchant
  keyId: string
  scopes: readonly GrantedScope[]
  /** The key's own limit; null: that of the service. */
  rateLimit: { perSecond: number; burst: number } | null
}

interface Needs {
  db: Tx
  clock: Clock
  log: Log
  mode: Mode
  keyPepper: Uint8Array
  keyCache: KeyCache
}

interface KnownKey {
  row: KeyOwnerRow
  addresses: BlockList | undefined
  answer: Authenticated
  /** Set when this reading of the row has led to a write of the time of use. */
  isTouched: boolean
}

interface Entry {
  startedAt: number
  lookup: Promise<KnownKey | undefined>
}

export interface KeyCache {
  readonly entries: Map<string, Entry>
  readonly maxEntries: number
  /** Those that miss at the same moment ask together. */
  read(keyId: string): Promise<KeyOwnerRow | undefined>
}

// Revocation must be in force within 5 s in every process. An entry ages from the start of its lookup, so 3 s leave
// time for the request that is under way.
const MAX_AGE_MS = 3_000

// Unknown ids are kept too, so that they cost what known ones cost. Ten thousand entries are a few megabytes.
const MAX_ENTRIES = 10_000

const KEYS_AT_ONCE = 200

export function createKeyCache(
  { db, clock }: Pick<Needs, 'db' | 'clock'>,
  maxEntries: number = MAX_ENTRIES,
): KeyCache {
  const read = createBatcher({
    run: (keyIds: readonly string[]) => findKeyOwners(db, keyIds),
    maxSize: KEYS_AT_ONCE,
    // A flood of keys that nobody has keeps two connections busy, and no more.
    concurrency: 2,
    isolates: () => false,
    patience: patienceOf(clock),
  })
  return { entries: new Map(), maxEntries, read }
}

export async function authenticate(
  app: Needs,
  request: { apiKey: string | undefined; ip: string },
): Promise<Authenticated> {
  if (!request.apiKey) throw new Refusal('missing_api_key')
  const claimed = claimedMode(request.apiKey)
  if (claimed && claimed !== app.mode) throw new Refusal('mode_mismatch', { message: wrongMode(claimed) })
  const presented = parseApiKey(request.apiKey)
  // Anybody can compute the check of a key, so telling a typo apart tells nothing about what keys there are.
  if (!presented) throw new Refusal('invalid_api_key', { message: MALFORMED })

  const known = await lookUp(app, presented.id)
  // The same work for an id that does not exist, so that the time does not tell which ids do.
  const isRight = sameBytes(
    hashSecret(app.keyPepper, presented.secret),
    known?.row.secret_hash ?? NOBODYS_HASH,
  )
  if (!known || !isRight) throw new Refusal('invalid_api_key')

  refuseInactive(known, app.clock.now(), request.ip)
  noteUse(app, known)
  return known.answer
}

/** Whether a refused key was a try at a secret, rather than a typo that anybody can see offline. */
export function isSecretGuess(refusal: Refusal): boolean {
  return refusal.code === 'invalid_api_key' && refusal.message !== MALFORMED
}

const MALFORMED = 'The API key is incomplete or mistyped; copy it again, from cowry_ to its last character.'
const NOBODYS_HASH = Buffer.alloc(32)

function wrongMode(claimed: Mode): string {
  return claimed === 'live'
    ? 'This is a live key and this is the staging environment; use a cowry_test_ key here.'
    : 'This is a test key and this is the production environment; use a cowry_live_ key here.'
}

/** Decided anew on every request: an expiry must not wait for a cache. */
function refuseInactive({ row, addresses }: KnownKey, now: Date, ip: string): void {
  if (row.revoked_at) throw new Refusal('api_key_revoked')
  if (row.expires_at && row.expires_at <= now) throw new Refusal('api_key_expired')
  if (row.merchant_status === 'suspended') throw new Refusal('merchant_suspended')
  if (!allowsAddress(addresses, ip)) throw new Refusal('ip_not_allowed')
}

/** The row of a key that is at most MAX_AGE_MS old. Requests that miss together share one question. */
function lookUp(app: Needs, keyId: string): Promise<KnownKey | undefined> {
  const { entries, maxEntries } = app.keyCache
  const now = app.clock.now().getTime()
  const entry = entries.get(keyId)
  // A clock that was set back must not make an entry live longer.
  if (entry && now >= entry.startedAt && now - entry.startedAt < MAX_AGE_MS) return entry.lookup

  const fresh: Entry = { startedAt: now, lookup: readKey(app.keyCache, keyId) }
  // Deleted first, so that the map stays in the order of age and its first entry is the oldest.
  entries.delete(keyId)
  entries.set(keyId, fresh)
  const [oldest] = entries.keys()
  if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
  fresh.lookup.catch(() => {
    // The callers are told by the promise itself; the next one asks again instead of sharing a failure.
    if (entries.get(keyId) === fresh) entries.delete(keyId)
  })
  return fresh.lookup
}

async function readKey(cache: KeyCache, keyId: string): Promise<KnownKey | undefined> {
  const row = await cache.read(keyId)
  if (!row) return undefined
  const answer: Authenticated = {
    merchant: {
      id: row.merchant_id,
      name: row.merchant_name,
      mode: row.mode,
      baseCurrency: row.base_currency,
    },
    keyId: row.key_id,
    // A boundary: only scopes that the schema knows are ever stored.
    scopes: row.scopes as GrantedScope[],
    rateLimit:
      row.rate_per_second !== null && row.rate_burst !== null
        ? { perSecond: row.rate_per_second, burst: row.rate_burst }
        : null,
  }
  return { row, addresses: buildAddressList(row.allowed_ips), answer, isTouched: false }
}

const TOUCH_EVERY_MS = 60_000

/**
 * Writes the time of use at most once a minute and off the request's path. The stored time itself says when the last
 * write was, over all processes, so a write that failed is simply due again with the next reading of the row.
 */
function noteUse(app: Needs, known: KnownKey): void {
  const now = app.clock.now()
  const due = addMs(now, -TOUCH_EVERY_MS)
  if (known.isTouched || (known.row.last_used_at && known.row.last_used_at >= due)) return
  known.isTouched = true
  const { merchant_id: merchantId, key_id: keyId } = known.row
  touchKey(app.db, merchantId, keyId, { usedAt: now, unlessAfter: due }).catch((error: unknown) => {
    app.log.warn('the time of use of a key was not written', { merchantId, keyId, ...errorFields(error) })
  })
}
