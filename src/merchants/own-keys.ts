// A merchant and its own API keys. The key that asks is read again from the database, not from the cache of the key check:
// a key that was revoked a second ago makes no other.

import { containsCardNumber } from '../core/card-number.ts'
import { REFUSALS, Refusal } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db.ts'
import { createOnce, isRepeat, type Once } from '../kit/idempotency.ts'
import { type ListQuery, pageOf, windowOf } from '../kit/list.ts'
import { keyIdOfClaim } from './keys.ts'
import {
  countLiveKeys,
  countOwnKeys,
  findOwnKey,
  holdKey,
  listOwnKeyRows,
  lockKeysOfMerchant,
} from './own-key-queries.ts'
import type { KeyRow } from './queries.ts'
import { complainOfExcess, type Rights } from './rights.ts'
import type { CreateOwnKey } from './schema.ts'
import { createKey, type Needs, revokeKey, rotateKey } from './service.ts'

export interface OwnKeysApp extends Omit<Needs, 'db'> {
  db: Db
  cursors: Signer
}

/** Who asks: a merchant, by one of its keys. */
export interface Asking {
  merchant: Merchant
  keyId: string
  idempotencyKey: string | undefined
}

/** A key, with itself in clear if it was made just now. */
export interface MadeKey {
  key: KeyRow
  apiKey: string | null
}

/**
 * One for every server, job and colleague of a large shop. Each key has a pace of its own, so their number also bounds what
 * a merchant can send.
 */
export const MAX_LIVE_KEYS = 20

/** While keys are in their overlap there may be twice as many, so that all can be rotated at once. */
const MAX_LIVE_KEYS_IN_ROTATION = 2 * MAX_LIVE_KEYS

export async function listOwnKeys(
  app: Pick<OwnKeysApp, 'db' | 'cursors'>,
  merchant: Merchant,
  query: ListQuery,
): Promise<{ keys: KeyRow[]; meta: PageMeta }> {
  const scope = `api-keys:${merchant.id}`
  const window = windowOf(app.cursors, scope, query)
  const [found, counted] = await Promise.all([
    listOwnKeyRows(app.db, merchant.id, window),
    countOwnKeys(app.db, merchant.id, window),
  ])
  const listed = found.map((key) => ({ key, id: key.key_id, createdAt: key.created_at }))
  const { rows, meta } = pageOf(app.cursors, scope, window, listed, counted)
  return { keys: rows.map(({ key }) => key), meta }
}

export async function requireOwnKey(app: { db: Tx }, merchant: Merchant, keyId: string): Promise<KeyRow> {
  const key = await findOwnKey(app.db, merchant.id, keyId)
  if (!key) throw new Refusal('api_key_not_found')
  return key
}

export function createOwnKey(app: OwnKeysApp, asking: Asking, input: CreateOwnKey): Promise<Once<MadeKey>> {
  const operation = 'POST /api/v1/api-keys'
  return makeOnce(app, asking, { operation, input }, async (tx, keyId) => {
    refuseCardNumber(input.name)
    const own = await holdOwn(app, tx, asking)
    const wanted = rightsWanted(own, input)
    refuseExcess(own, wanted)
    await refuseTooMany(app, tx, asking.merchant, MAX_LIVE_KEYS)
    const { expires_at: end, rate_per_second: perSecond, rate_burst: burst } = wanted
    const allowedIps = wanted.allowed_ips
    const rateLimit = perSecond !== null && burst !== null ? { perSecond, burst } : undefined
    const key = { ...input, allowedIps, rateLimit, expiresAt: end?.toISOString() }
    return createKey({ ...app, db: tx }, asking.merchant.id, key, keyId)
  })
}

/** A card number must not be kept anywhere, not even by mistake. */
function refuseCardNumber(name: string): void {
  if (!containsCardNumber(name)) return
  const { message } = REFUSALS.card_data_not_allowed
  const details = [{ field: 'name', code: 'card_data_not_allowed', message }]
  throw new Refusal('card_data_not_allowed', { details })
}

/** What is not named is taken over from the key that asks. Its pace cannot be named: operators set it. */
function rightsWanted(own: KeyRow, { scopes, allowedIps, expiresAt }: CreateOwnKey): Rights {
  return {
    scopes,
    allowed_ips: allowedIps ?? own.allowed_ips,
    expires_at: expiresAt === undefined ? own.expires_at : new Date(expiresAt),
    rate_per_second: own.rate_per_second,
    rate_burst: own.rate_burst,
  }
}

export function rotateOwnKey(
  app: OwnKeysApp,
  asking: Asking,
  keyId: string,
  overlapHours: number | undefined,
): Promise<Once<MadeKey>> {
  const operation = 'POST /api/v1/api-keys/{keyId}/rotate'
  const claim = { operation, input: { keyId, overlapHours } }
  return makeOnce(app, asking, claim, async (tx, successorId) => {
    const own = await holdOwn(app, tx, asking)
    // The successor has its rights, and its secret goes to whoever asks here.
    refuseExcess(own, await requireOwnKey({ db: tx }, asking.merchant, keyId))
    await refuseTooMany(app, tx, asking.merchant, MAX_LIVE_KEYS_IN_ROTATION)
    const successor = { keyId: successorId, endsBy: own.expires_at }
    return rotateKey({ ...app, db: tx }, asking.merchant.id, keyId, overlapHours, successor)
  })
}

/** Any key of the merchant, also one that may do more: ending a leaked key must never wait for a better one. */
export async function revokeOwnKey(
  app: OwnKeysApp,
  { merchant, keyId: ownId, idempotencyKey: key }: Asking,
  keyId: string,
  confirmSelf: boolean,
): Promise<Once<KeyRow>> {
  if (keyId === ownId && !confirmSelf) {
    const message = 'This is the key that asks. To end it all the same, send {"confirmSelf": true}.'
    throw new Refusal('invalid_state', { message })
  }
  const operation = 'POST /api/v1/api-keys/{keyId}/revoke'
  const claim = { merchantId: merchant.id, key, operation, input: { keyId, confirmSelf } }
  return app.db.transaction(async (tx) => {
    const replayed = await isRepeat(app, tx, claim)
    const record = replayed
      ? await requireOwnKey({ db: tx }, merchant, keyId)
      : await revokeKey({ ...app, db: tx }, merchant.id, keyId)
    return { record, replayed }
  })
}

/** The id of the key follows from the claim, so that a repeat finds it; its secret is gone by then. */
async function makeOnce(
  app: OwnKeysApp,
  { merchant, idempotencyKey }: Asking,
  claim: { operation: string; input: unknown },
  make: (tx: Tx, keyId: string) => Promise<MadeKey>,
): Promise<Once<MadeKey>> {
  return createOnce<MadeKey>(
    app,
    { merchantId: merchant.id, key: idempotencyKey, ...claim },
    {
      make: (tx, id) => make(tx, keyIdOfClaim(id)),
      find: async (id) => {
        const key = await findOwnKey(app.db, merchant.id, keyIdOfClaim(id))
        return key && { key, apiKey: null }
      },
    },
  )
}

async function holdOwn(app: OwnKeysApp, tx: Tx, { merchant, keyId }: Asking): Promise<KeyRow> {
  await lockKeysOfMerchant(tx, merchant.id)
  const own = await holdKey(tx, merchant.id, keyId)
  if (!own || own.revoked_at) throw new Refusal('api_key_revoked')
  if (own.expires_at && own.expires_at <= app.clock.now()) throw new Refusal('api_key_expired')
  return own
}

function refuseExcess(own: Rights, wanted: Rights): void {
  const details = complainOfExcess(own, wanted)
  if (details.length > 0) throw new Refusal('beyond_own_rights', { details })
}

async function refuseTooMany(app: OwnKeysApp, tx: Tx, merchant: Merchant, most: number): Promise<void> {
  const live = await countLiveKeys(tx, merchant.id, app.clock.now())
  if (live >= most)
    throw new Refusal('too_many_api_keys', {
      message: `There are ${live} live API keys, and ${most} is the most; revoke one first.`,
    })
}
