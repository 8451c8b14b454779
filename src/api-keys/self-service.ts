// A merchant and its own API keys. The key that asks is read again from the database, not from the cache of the key check:
// a key that was revoked a second ago makes no other.

import { containsCardNumber } from '../core/card-number.ts'
import { API_ERRORS, ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db.ts'
import { createIdempotently, type IdempotentResult, isReplay } from '../kit/idempotency.ts'
import { type ListQuery, pageOf, windowOf } from '../kit/pagination.ts'
import { type KeyRow, rateLimitOf } from './api-key.ts'
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

import { type ApiKeysApp, createKey, revokeKey, rotateKey } from './service.ts'

export interface SelfServiceKeysApp extends Omit<ApiKeysApp, 'db'> {
  db: Db
  cursors: Signer
}

/** Who asks: a merchant, by one of its keys. */
export interface Caller {
  merchant: Merchant
  keyId: string
  idempotencyKey: string | undefined
}

/** A key, with itself in clear if it was made just now. */
export interface IssuedKey {
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

export async function listSelfServiceKeys(
  app: Pick<SelfServiceKeysApp, 'db' | 'cursors'>,
  merchant: Merchant,
  query: ListQuery,
): Promise<{ keys: KeyRow[]; meta: PageMeta }> {
  const scope = `api-keys:${merchant.id}`
  const window = windowOf(app.cursors, scope, query)
  const [found, counted] = await Promise.all([
    listKeyPage(app.db, merchant.id, window),
    countKeysInPeriod(app.db, merchant.id, window),
  ])
  const listed = found.map((key) => ({ key, id: key.keyId, createdAt: key.createdAt }))
  const { rows, meta } = pageOf(app.cursors, scope, window, listed, counted)
  return { keys: rows.map(({ key }) => key), meta }
}

export async function requireSelfServiceKey(
  app: { db: Tx },
  merchant: Merchant,
  keyId: string,
): Promise<KeyRow> {
  const key = await findKey(app.db, merchant.id, keyId)
  if (!key) throw new ApiError('api_key_not_found')
  return key
}

export function createSelfServiceKey(
  app: SelfServiceKeysApp,
  caller: Caller,
  input: CreateSelfServiceKey,
): Promise<IdempotentResult<IssuedKey>> {
  const operation = 'POST /api/v1/api-keys'
  return issueOnce(app, caller, { operation, input }, async (tx, keyId) => {
    assertNoCardNumber(input.name)
    const callerKey = await lockCallerKey(app, tx, caller)
    const requested = requestedRights(callerKey, input)
    assertWithinRights(callerKey, requested)
    await assertKeyLimit(app, tx, caller.merchant, MAX_LIVE_KEYS)
    const { allowedIps, expiresAt } = requested
    const rateLimit = rateLimitOf(requested) ?? undefined
    const key = { ...input, allowedIps, rateLimit, expiresAt: expiresAt?.toISOString() }
    return createKey({ ...app, db: tx }, caller.merchant.id, key, keyId)
  })
}

/** A card number must not be kept anywhere, not even by mistake. */
function assertNoCardNumber(name: string): void {
  if (!containsCardNumber(name)) return
  const { message } = API_ERRORS.card_data_not_allowed
  const details = [{ field: 'name', code: 'card_data_not_allowed', message }]
  throw new ApiError('card_data_not_allowed', { details })
}

/** What is not named is taken over from the key that asks. Its pace cannot be named: operators set it. */
function requestedRights(callerKey: KeyRow, { scopes, allowedIps, expiresAt }: CreateSelfServiceKey): Rights {
  return {
    scopes,
    allowedIps: allowedIps ?? callerKey.allowedIps,
    expiresAt: expiresAt === undefined ? callerKey.expiresAt : new Date(expiresAt),
    ratePerSecond: callerKey.ratePerSecond,
    rateBurst: callerKey.rateBurst,
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
    const callerKey = await lockCallerKey(app, tx, caller)
    // The successor has its rights, and its secret goes to whoever asks here.
    assertWithinRights(callerKey, await requireSelfServiceKey({ db: tx }, caller.merchant, keyId))
    await assertKeyLimit(app, tx, caller.merchant, MAX_LIVE_KEYS_IN_ROTATION)
    const successor = { keyId: successorId, endsBy: callerKey.expiresAt }
    return rotateKey({ ...app, db: tx }, caller.merchant.id, keyId, overlapHours, successor)
  })
}

/** Any key of the merchant, also one that may do more: ending a leaked key must never wait for a better one. */
export async function revokeSelfServiceKey(
  app: SelfServiceKeysApp,
  { merchant, keyId: callerKeyId, idempotencyKey: key }: Caller,
  keyId: string,
  confirmSelf: boolean,
): Promise<IdempotentResult<KeyRow>> {
  if (keyId === callerKeyId && !confirmSelf) {
    const message = 'This is the key that asks. To end it all the same, send {"confirmSelf": true}.'
    throw new ApiError('invalid_state', { message })
  }
  const operation = 'POST /api/v1/api-keys/{keyId}/revoke'
  const claim = { merchantId: merchant.id, key, operation, input: { keyId, confirmSelf } }
  return app.db.transaction(async (tx) => {
    const replayed = await isReplay(app, tx, claim)
    const record = replayed
      ? await requireSelfServiceKey({ db: tx }, merchant, keyId)
      : await revokeKey({ ...app, db: tx }, merchant.id, keyId)
    return { record, replayed }
  })
}

/** The id of the key follows from the claim, so that a repeat finds it; its secret is gone by then. */
async function issueOnce(
  app: SelfServiceKeysApp,
  { merchant, idempotencyKey }: Caller,
  claim: { operation: string; input: unknown },
  make: (tx: Tx, keyId: string) => Promise<IssuedKey>,
): Promise<IdempotentResult<IssuedKey>> {
  return createIdempotently<IssuedKey>(
    app,
    { merchantId: merchant.id, key: idempotencyKey, ...claim },
    {
      make: (tx, id) => make(tx, keyIdOfClaim(id)),
      find: async (id) => {
        const key = await findKey(app.db, merchant.id, keyIdOfClaim(id))
        return key && { key, apiKey: null }
      },
    },
  )
}

async function lockCallerKey(app: SelfServiceKeysApp, tx: Tx, { merchant, keyId }: Caller): Promise<KeyRow> {
  await lockKeysOfMerchant(tx, merchant.id)
  const callerKey = await lockKeyForShare(tx, merchant.id, keyId)
  if (!callerKey || callerKey.revokedAt) throw new ApiError('api_key_revoked')
  if (callerKey.expiresAt && callerKey.expiresAt <= app.clock.now()) throw new ApiError('api_key_expired')
  return callerKey
}

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
