// API keys as operators manage them: create, list, rotate, revoke. Self-service is in self-service.ts.

import { ApiError, errorFromIssues, type Issue, requireFound } from '../core/errors.ts'
import type { Mode, Principal } from '../core/merchant.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import { type Listed, type ListWindow, pageMeta, readWindow } from '../merchants/operator-list.ts'
import { requireMerchant } from '../merchants/service.ts'
import { isAddressBlock } from './addresses.ts'
import type { KeyRow } from './api-key.ts'
import { formatApiKey, generateApiKey, hashSecret } from './key-format.ts'
import {
  countKeys,
  findKeyOwner,
  type Holder,
  insertKey,
  listKeyRows,
  replaceKey,
  revokeKeyRow,
  selectOriginsOfNewKey,
  selectRelation,
} from './queries.ts'
import { type CreateKey, DEFAULT_SCOPES } from './schema.ts'

export interface ApiKeysApp {
  instanceDb: Tx
  clock: Clock
  random: Random
  /** Of the environment: every new key gets it. */
  mode: Mode
  keyPepper: Uint8Array
}

/** A new key in clear: only the response that creates it shows it. */
export interface CreatedKey {
  key: KeyRow
  apiKey: string
}

/** Where a key comes from; nothing of it if an operator creates it. */
export interface KeyOrigin {
  descendsFrom?: string[]
  createdByKey?: string | null
}

/** `keyId` is given when an idempotency claim must find the key again. */
export async function createKey(
  app: ApiKeysApp,
  merchantId: string,
  input: CreateKey,
  { keyId, descendsFrom = [], createdByKey = null }: KeyOrigin & { keyId?: string } = {},
): Promise<CreatedKey> {
  const now = app.clock.now()
  const issues = keyIssues(input, now)
  if (issues.length > 0) throw errorFromIssues(issues)
  const merchant = await requireMerchant(app, merchantId)
  // A database that was copied from the other environment: its merchants must not get keys here.
  if (merchant.mode !== app.mode) throw new ApiError('mode_mismatch')
  const fresh = generateApiKey(app.mode, app.random, keyId)
  const newKey = {
    merchantId,
    keyId: fresh.id,
    mode: app.mode,
    name: input.name ?? 'API key',
    scopes: [...new Set(input.scopes ?? DEFAULT_SCOPES)],
    allowedIps: input.allowedIps ?? [],
    ratePerSecond: input.rateLimit?.perSecond ?? null,
    rateBurst: input.rateLimit?.burst ?? null,
    createdAt: now,
    expiresAt: input.expiresAt ? new Date(input.expiresAt) : null,
    descendsFrom,
    createdByKey,
  }
  const key = await insertKey(app.instanceDb, newKey, hashSecret(app.keyPepper, fresh.secret))
  return { key, apiKey: formatApiKey(fresh) }
}

function keyIssues(input: CreateKey, now: Date): Issue[] {
  const issues: Issue[] = []
  const addIssue = (field: string, code: string, message: string) => issues.push({ field, code, message })
  const { expiresAt, allowedIps = [], rateLimit } = input
  // The negation also rejects an unparsable date, which is NaN.
  if (expiresAt && !(Date.parse(expiresAt) > now.getTime()))
    addIssue('expiresAt', 'out_of_range', 'must be a time to come.')
  for (const [index, block] of allowedIps.entries())
    if (!isAddressBlock(block))
      addIssue(`allowedIps.${index}`, 'invalid', 'must be an address or a block such as 203.0.113.0/24.')
  if (rateLimit && rateLimit.burst < rateLimit.perSecond)
    addIssue('rateLimit.burst', 'out_of_range', 'must be at least perSecond.')
  return issues
}

export async function listKeys(
  app: Pick<ApiKeysApp, 'instanceDb'>,
  merchantId: string,
  window: ListWindow,
): Promise<Listed<KeyRow>> {
  await requireMerchant(app, merchantId)
  const { page, limit, offset } = readWindow(window)
  const items = await listKeyRows(app.instanceDb, merchantId, limit, offset)
  return { items, meta: pageMeta(page, limit, await countKeys(app.instanceDb, merchantId)) }
}

/** The merchant of a key, for operators' routes that name only the key. */
export async function requireKeyOwner(app: Pick<ApiKeysApp, 'instanceDb'>, keyId: string): Promise<string> {
  const key = await findKeyOwner(app.instanceDb, keyId)
  if (!key) throw new ApiError('api_key_not_found')
  return key.merchantId
}

const HOUR_MS = 3_600_000

const DEFAULT_OVERLAP_HOURS = 24

/** With the origin of the key that asks. */
interface Successor extends KeyOrigin {
  keyId?: string
  /** The latest expiry of the successor; null: no bound. */
  endsBy?: Date | null
}

/** Creates a key with the rights of the old one. The old key stays valid for the overlap, so servers can be reconfigured. */
export async function rotateKey(
  app: ApiKeysApp,
  merchantId: string,
  keyId: string,
  overlapHours: number = DEFAULT_OVERLAP_HOURS,
  successor: Successor = {},
): Promise<CreatedKey> {
  const now = app.clock.now()
  const fresh = generateApiKey(app.mode, app.random, successor.keyId)
  const key = await replaceKey(app.instanceDb, merchantId, keyId, {
    keyId: fresh.id,
    secretHash: hashSecret(app.keyPepper, fresh.secret),
    createdAt: now,
    predecessorEndsAt: addMs(now, overlapHours * HOUR_MS),
    endsBy: successor.endsBy ?? null,
    descendsFrom: successor.descendsFrom ?? [],
    createdByKey: successor.createdByKey ?? null,
  })
  if (!key) throw await rotationError(app, merchantId, keyId)
  return { key, apiKey: formatApiKey(fresh) }
}

async function rotationError(app: ApiKeysApp, merchantId: string, keyId: string): Promise<ApiError> {
  const key = await findKeyOwner(app.instanceDb, keyId)
  if (key?.merchantId !== merchantId) return new ApiError('api_key_not_found')
  const why = key.revokedAt
    ? 'it was revoked'
    : key.replacedBy
      ? `it was replaced by ${key.replacedBy}`
      : 'it has expired'
  return new ApiError('invalid_state', { message: `The key cannot be rotated: ${why}. Create a new one.` })
}

/** Permanent and idempotent: a second call changes nothing. */
export async function revokeKey(
  app: Pick<ApiKeysApp, 'instanceDb' | 'clock'>,
  merchantId: string,
  keyId: string,
): Promise<KeyRow> {
  return requireFound(
    await revokeKeyRow(app.instanceDb, merchantId, keyId, app.clock.now()),
    'api_key_not_found',
  )
}

type Subject = Pick<Principal, 'type' | 'id'>

/**
 * Whether two principals may be one person: one key was created or rotated with the other or by the person, or both with a
 * third one, through any number of keys. Keys that operators created, and two people, are independent of each other.
 */
export async function areRelated(tx: Tx, merchantId: string, a: Subject, b: Subject): Promise<boolean> {
  return (await selectRelation(tx, merchantId, [holderOf(a), holderOf(b)])) ?? true
}

const holderOf = ({ type, id }: Subject): Holder =>
  type === 'api_key' ? { keyId: id } : { origins: [personOrigin(id)] }

const PERSON_PREFIX = 'user:'

/** The origin of the keys that a person creates. */
export const personOrigin = (userId: string): string => `${PERSON_PREFIX}${userId}`

/** The people who act by this principal: of a key that was created after this time, the people from whom it descends. */
export async function peopleBehind(
  tx: Tx,
  merchantId: string,
  { type, id }: Subject,
  after: Date,
): Promise<string[]> {
  if (type === 'user') return [id]
  const origins = await selectOriginsOfNewKey(tx, merchantId, id, after)
  return origins.filter((one) => one.startsWith(PERSON_PREFIX)).map((one) => one.slice(PERSON_PREFIX.length))
}
