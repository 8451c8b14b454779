// Self-service key management: a merchant manages its own API keys. The caller's key is read from the database, not from the
// authentication cache, so a key that was revoked a second ago cannot create another.

import { assertNoCardNumbers } from '../core/card-number.ts'
import { ApiError, requireFound } from '../core/errors.ts'
import { grantableScopes, type Merchant, type Principal } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import { createIdempotently, type IdempotentResult, isReplay } from '../kit/db/idempotency.ts'
import { type ListQuery, paginate } from '../kit/db/pagination.ts'
import { type KeyRow, originsOf, rateLimitOf } from './api-key.ts'
import { keyIdOfClaim } from './key-format.ts'
import { excessIssues, type Rights } from './rights.ts'
import type { CreateSelfServiceKey } from './schema.ts'
import {
  countKeysInPeriod,
  countLiveKeys,
  findKey,
  listKeyPage,
  lockKeyForShare,
  lockKeysOfMerchant,
} from './self-service-queries.ts'

import { type ApiKeysApp, createKey, type KeyOrigin, personOrigin, revokeKey, rotateKey } from './service.ts'

export interface SelfServiceKeysApp extends Omit<ApiKeysApp, 'instanceDb'> {
  instanceDb: Db
  cursors: Signer
}

/** The caller: a merchant, by one of its keys or a signed-in person. */
export interface Caller {
  merchant: Merchant
  principal: Principal
  idempotencyKey: string | undefined
}

/** A key; `apiKey` is the key in clear if this request created it. */
export interface IssuedKey {
  key: KeyRow
  apiKey: string | null
}

/**
 * Enough for every server, job and developer of a large shop. Each key has its own rate limit, so this number also bounds the
 * request rate of a merchant.
 */
export const MAX_LIVE_KEYS = 20

/** Twice as many during rotation overlaps, so that all keys can be rotated at once. */
const MAX_LIVE_KEYS_IN_ROTATION = 2 * MAX_LIVE_KEYS

export async function listSelfServiceKeys(
  app: Pick<SelfServiceKeysApp, 'instanceDb' | 'cursors'>,
  merchant: Merchant,
  query: ListQuery,
): Promise<{ keys: KeyRow[]; meta: PageMeta }> {
  const scope = `api-keys:${merchant.id}`
  const { rows, meta } = await paginate(app.cursors, scope, query, async (window) => {
    const [keys, counted] = await Promise.all([
      listKeyPage(app.instanceDb, merchant.id, window),
      countKeysInPeriod(app.instanceDb, merchant.id, window),
    ])
    return { rows: keys.map((key) => ({ ...key, id: key.keyId })), counted }
  })
  return { keys: rows, meta }
}

export async function requireSelfServiceKey(
  app: { instanceDb: Tx },
  merchant: Merchant,
  keyId: string,
): Promise<KeyRow> {
  return requireFound(await findKey(app.instanceDb, merchant.id, keyId), 'api_key_not_found')
}

export function createSelfServiceKey(
  app: SelfServiceKeysApp,
  caller: Caller,
  input: CreateSelfServiceKey,
): Promise<IdempotentResult<IssuedKey>> {
  const operation = 'POST /api/v1/api-keys'
  return issueOnce(app, caller, { operation, input }, async (tx, keyId) => {
    assertNoCardNumbers({ name: input.name })
    const own = await lockCallerRights(app, tx, caller)
    const requested = requestedRights(own, input)
    assertWithinRights(own, requested)
    await assertKeyLimit(app, tx, caller.merchant, MAX_LIVE_KEYS)
    const { allowedIps, expiresAt } = requested
    const rateLimit = rateLimitOf(requested) ?? undefined
    const key = { ...input, allowedIps, rateLimit, expiresAt: expiresAt?.toISOString() }
    return createKey({ ...app, instanceDb: tx }, caller.merchant.id, key, { keyId, ...own.origin })
  })
}

/** Absent rights are copied from the caller. The rate limit is always copied: only operators set it. */
function requestedRights(own: Rights, { scopes, allowedIps, expiresAt }: CreateSelfServiceKey): Rights {
  return {
    scopes,
    allowedIps: allowedIps ?? own.allowedIps,
    expiresAt: expiresAt === undefined ? own.expiresAt : new Date(expiresAt),
    ratePerSecond: own.ratePerSecond,
    rateBurst: own.rateBurst,
  }
}

export function rotateSelfServiceKey(
  app: SelfServiceKeysApp,
  caller: Caller,
  keyId: string,
  overlapHours: number | undefined,
): Promise<IdempotentResult<IssuedKey>> {
  const operation = 'POST /api/v1/api-keys/{keyId}/rotate'
  const claim = { operation, input: { keyId, overlapHours } }
  return issueOnce(app, caller, claim, async (tx, successorId) => {
    const own = await lockCallerRights(app, tx, caller)
    // The successor has the rights of the old key, and this caller receives its secret.
    assertWithinRights(own, await requireSelfServiceKey({ instanceDb: tx }, caller.merchant, keyId))
    await assertKeyLimit(app, tx, caller.merchant, MAX_LIVE_KEYS_IN_ROTATION)
    const successor = { keyId: successorId, endsBy: own.expiresAt, ...own.origin }
    return rotateKey({ ...app, instanceDb: tx }, caller.merchant.id, keyId, overlapHours, successor)
  })
}

/** Any key of the merchant, also one with more rights: the revocation of a leaked key must not need a stronger key. */
export async function revokeSelfServiceKey(
  app: SelfServiceKeysApp,
  { merchant, principal, idempotencyKey: key }: Caller,
  keyId: string,
  confirmSelf: boolean,
): Promise<IdempotentResult<KeyRow>> {
  if (principal.type === 'api_key' && keyId === principal.id && !confirmSelf) {
    const message = 'This is the key that asks. To end it all the same, send {"confirmSelf": true}.'
    throw new ApiError('invalid_state', { message })
  }
  const operation = 'POST /api/v1/api-keys/{keyId}/revoke'
  const claim = { merchantId: merchant.id, key, operation, input: { keyId, confirmSelf } }
  return app.instanceDb.transaction(async (tx) => {
    const replayed = await isReplay(app, tx, claim)
    const record = replayed
      ? await requireSelfServiceKey({ instanceDb: tx }, merchant, keyId)
      : await revokeKey({ ...app, instanceDb: tx }, merchant.id, keyId)
    return { record, replayed }
  })
}

/** The key id follows from the idempotency claim, so a replay finds the key. Its secret is not stored, so it is absent. */
async function issueOnce(
  app: SelfServiceKeysApp,
  { merchant, idempotencyKey }: Caller,
  claim: { operation: string; input: unknown },
  make: (tx: Tx, keyId: string) => Promise<IssuedKey>,
): Promise<IdempotentResult<IssuedKey>> {
  return createIdempotently<IssuedKey>(
    { ...app, db: app.instanceDb },
    { merchantId: merchant.id, key: idempotencyKey, ...claim },
    {
      make: (tx, id) => make(tx, keyIdOfClaim(id)),
      find: async (id) => {
        const key = await findKey(app.instanceDb, merchant.id, keyIdOfClaim(id))
        return key && { key, apiKey: null }
      },
    },
  )
}

/** The rights of the caller, and the origin of the keys that it creates. */
async function lockCallerRights(
  app: SelfServiceKeysApp,
  tx: Tx,
  { merchant, principal }: Caller,
): Promise<Rights & { origin: KeyOrigin }> {
  await lockKeysOfMerchant(tx, merchant.id)
  if (principal.type === 'user') {
    const scopes = [...grantableScopes(app.mode, principal.scopes)]
    return { ...UNLIMITED, scopes, origin: { descendsFrom: [personOrigin(principal.id)] } }
  }
  const callerKey = await lockKeyForShare(tx, merchant.id, principal.id)
  if (!callerKey || callerKey.revokedAt) throw new ApiError('api_key_revoked')
  if (callerKey.expiresAt && callerKey.expiresAt <= app.clock.now()) throw new ApiError('api_key_expired')
  return { ...callerKey, origin: { descendsFrom: originsOf(callerKey), createdByKey: callerKey.keyId } }
}

/** A session has no addresses, end or rate limit that a key could inherit. */
const UNLIMITED = { allowedIps: [], expiresAt: null, ratePerSecond: null, rateBurst: null }

function assertWithinRights(caller: Rights, requested: Rights): void {
  const details = excessIssues(caller, requested)
  if (details.length > 0) throw new ApiError('scope_exceeded', { details })
}

async function assertKeyLimit(
  app: SelfServiceKeysApp,
  tx: Tx,
  merchant: Merchant,
  limit: number,
): Promise<void> {
  const live = await countLiveKeys(tx, merchant.id, app.clock.now())
  if (live >= limit)
    throw new ApiError('too_many_api_keys', {
      message: `There are ${live} live API keys, and ${limit} is the most; revoke one first.`,
    })
}
