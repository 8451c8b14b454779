// Merchants and their API keys: the verbs of operators and of the first start, and the slice's face for the key check
// and the secrets of the installation, which live in files of their own.

import { join } from 'node:path'
import { DEFAULT_CURRENCY } from '../core/currency.ts'
import { ApiError, errorFromIssues, type Issue } from '../core/errors.ts'
import type { Merchant, Mode } from '../core/merchant.ts'
import { COUNT_CAP, DEFAULT_LIMIT, type PageMeta } from '../core/page.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import { constantTimeEquals } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db.ts'
import { readPrivateFile, writePrivateFile } from '../kit/private-files.ts'
import type { Random } from '../kit/random.ts'
import { isAddressBlock } from './addresses.ts'
import { formatApiKey, generateApiKey, hashSecret, parseApiKey } from './keys.ts'
import {
  countKeys,
  countMerchants,
  findKeyOwner,
  findMerchant,
  findSecret,
  insertKey,
  insertMerchant,
  type KeyOwnerRow,
  type KeyRow,
  listKeyRows,
  listMerchantRows,
  lockDemoMerchant,
  type MerchantRow,
  putSecret,
  replaceKey,
  revokeKeyRow,
  updateMerchantRow,
} from './queries.ts'
import {
  type CreateKey,
  type CreateMerchant,
  DEFAULT_SCOPES,
  type ListWindow,
  type MerchantSettings,
  type UpdateMerchant,
} from './schema.ts'
import { patchOf, readSettings, settingsIssues } from './settings.ts'

export interface Needs {
  db: Tx
  clock: Clock
  random: Random
  /** The environment's: every merchant and key that is made here has it. */
  mode: Mode
  keyPepper: Uint8Array
  /** What rules of routing may name; absent: anything. */
  gatewayNames?: readonly string[]
}

export interface ManagedMerchant extends Merchant {
  readonly status: 'active' | 'suspended'
  readonly settings: MerchantSettings
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A key with its one and only showing. */
export interface CreatedKey {
  key: KeyRow
  apiKey: string
}

export interface Listed<Item> {
  items: Item[]
  meta: PageMeta
}

export async function createMerchant(app: Needs, input: CreateMerchant): Promise<ManagedMerchant> {
  assertValidSettings(app, input)
  const { fields, branding } = patchOf(input.settings ?? {})
  const row = await insertMerchant(app.db, {
    id: app.random.uuid(),
    name: input.name,
    mode: app.mode,
    base_currency: input.baseCurrency ?? DEFAULT_CURRENCY,
    settings: { ...fields, branding },
    created_at: app.clock.now(),
  })
  return toMerchant(row)
}

export async function listMerchants(
  app: Pick<Needs, 'db'>,
  window: ListWindow,
): Promise<Listed<ManagedMerchant>> {
  const { page, limit, offset } = readWindow(window)
  const rows = await listMerchantRows(app.db, limit, offset)
  return { items: rows.map(toMerchant), meta: pageMeta(page, limit, await countMerchants(app.db)) }
}

export async function requireMerchant(app: Pick<Needs, 'db'>, merchantId: string): Promise<ManagedMerchant> {
  return toMerchant(requireMerchantRow(await findMerchant(app.db, merchantId)))
}

type MerchantUpdateApp = Pick<Needs, 'db' | 'clock'>

/** Payers see the change within half a minute, when the remembered profiles have aged. */
export async function updateMerchant(
  app: MerchantUpdateApp & Pick<Needs, 'mode' | 'gatewayNames'>,
  merchantId: string,
  changes: UpdateMerchant,
): Promise<ManagedMerchant> {
  assertValidSettings(app, changes)
  const { name, settings, baseCurrency } = changes
  const patch = settings === undefined ? undefined : patchOf(settings)
  return changeMerchant(app, merchantId, { name, settings: patch, base_currency: baseCurrency })
}

function assertValidSettings(
  app: Pick<Needs, 'mode' | 'gatewayNames'>,
  { settings }: Pick<UpdateMerchant, 'settings'>,
): void {
  const issues = settingsIssues(settings, app.mode, app.gatewayNames)
  if (issues.length > 0) throw errorFromIssues(issues)
}

/** Its keys stop working in every process as soon as their caches have aged, within seconds. */
export function suspendMerchant(app: MerchantUpdateApp, merchantId: string) {
  return changeMerchant(app, merchantId, { status: 'suspended' })
}

export function activateMerchant(app: MerchantUpdateApp, merchantId: string) {
  return changeMerchant(app, merchantId, { status: 'active' })
}

async function changeMerchant(
  app: MerchantUpdateApp,
  merchantId: string,
  changes: Parameters<typeof updateMerchantRow>[2],
): Promise<ManagedMerchant> {
  return toMerchant(requireMerchantRow(await updateMerchantRow(app.db, merchantId, changes, app.clock.now())))
}

/** Under a given id where a claim has to find the key again. */
export async function createKey(
  app: Needs,
  merchantId: string,
  input: CreateKey,
  keyId?: string,
): Promise<CreatedKey> {
  const now = app.clock.now()
  const issues = keyIssues(input, now)
  if (issues.length > 0) throw errorFromIssues(issues)
  const merchant = await requireMerchant(app, merchantId)
  // A database copied from the other environment: its merchants stay there.
  if (merchant.mode !== app.mode) throw new ApiError('mode_mismatch')
  const fresh = generateApiKey(app.mode, app.random, keyId)
  const key = await insertKey(app.db, merchantId, {
    key_id: fresh.id,
    secret_hash: hashSecret(app.keyPepper, fresh.secret),
    mode: app.mode,
    name: input.name ?? 'API key',
    scopes: [...new Set(input.scopes ?? DEFAULT_SCOPES)],
    allowed_ips: input.allowedIps ?? [],
    rate_per_second: input.rateLimit?.perSecond ?? null,
    rate_burst: input.rateLimit?.burst ?? null,
    created_at: now,
    expires_at: input.expiresAt ? new Date(input.expiresAt) : null,
  })
  return { key, apiKey: formatApiKey(fresh) }
}

function keyIssues(input: CreateKey, now: Date): Issue[] {
  const issues: Issue[] = []
  const addIssue = (field: string, code: string, message: string) => issues.push({ field, code, message })
  const { expiresAt, allowedIps = [], rateLimit } = input
  // Written so that a date that cannot be read is refused as well.
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
  app: Pick<Needs, 'db'>,
  merchantId: string,
  window: ListWindow,
): Promise<Listed<KeyRow>> {
  await requireMerchant(app, merchantId)
  const { page, limit, offset } = readWindow(window)
  const items = await listKeyRows(app.db, merchantId, limit, offset)
  return { items, meta: pageMeta(page, limit, await countKeys(app.db, merchantId)) }
}

/** Whose key it is, for an operator who names only the key. */
export async function requireKeyOwner(app: Pick<Needs, 'db'>, keyId: string): Promise<string> {
  const key = await findKeyOwner(app.db, keyId)
  if (!key) throw new ApiError('api_key_not_found')
  return key.merchant_id
}

const HOUR_MS = 3_600_000
const DEFAULT_OVERLAP_HOURS = 24

interface Successor {
  keyId?: string
  /** It ends no later than this; null is no bound. */
  endsBy?: Date | null
}

/** A new key with the rights of the old one, which lives on for the overlap so that servers can be changed over. */
export async function rotateKey(
  app: Needs,
  merchantId: string,
  keyId: string,
  overlapHours: number = DEFAULT_OVERLAP_HOURS,
  successor: Successor = {},
): Promise<CreatedKey> {
  const now = app.clock.now()
  const fresh = generateApiKey(app.mode, app.random, successor.keyId)
  const key = await replaceKey(app.db, merchantId, keyId, {
    keyId: fresh.id,
    secretHash: hashSecret(app.keyPepper, fresh.secret),
    createdAt: now,
    predecessorEndsAt: addMs(now, overlapHours * HOUR_MS),
    endsBy: successor.endsBy ?? null,
  })
  if (!key) throw await rotationError(app, merchantId, keyId)
  return { key, apiKey: formatApiKey(fresh) }
}

async function rotationError(app: Needs, merchantId: string, keyId: string): Promise<ApiError> {
  const key = await findKeyOwner(app.db, keyId)
  if (key?.merchant_id !== merchantId) return new ApiError('api_key_not_found')
  const why = key.revoked_at
    ? 'it was revoked'
    : key.replaced_by
      ? `it was replaced by ${key.replaced_by}`
      : 'it has expired'
  return new ApiError('invalid_state', { message: `The key cannot be rotated: ${why}. Create a new one.` })
}

/** For good. A repeat changes nothing and is no error. */
export async function revokeKey(app: MerchantUpdateApp, merchantId: string, keyId: string): Promise<KeyRow> {
  const key = await revokeKeyRow(app.db, merchantId, keyId, app.clock.now())
  if (!key) throw new ApiError('api_key_not_found')
  return key
}

const DEMO_SECRET = 'demo_key'

const demoKeyPath = (dataDir: string) => join(dataDir, 'demo-key')

/** The key of the demo merchant of the service that runs on this data folder, if there is one. */
export function readDemoKey(dataDir: string): Promise<string | undefined> {
  return readPrivateFile(demoKeyPath(dataDir))
}

export interface DemoMerchant {
  merchant: ManagedMerchant
  apiKey: string
}

/**
 * The merchant with which staging can be tried at once. Its key is kept readable, in the database and in the data
 * folder, and is made anew when it no longer works. Processes that start together take turns.
 */
export async function ensureDemoMerchant(
  app: Omit<Needs, 'db'> & { db: Db },
  dataDir: string,
): Promise<DemoMerchant> {
  if (app.mode !== 'test') throw new Error('there is no demo merchant outside staging')
  const demo = await app.db.transaction(async (tx) => {
    await lockDemoMerchant(tx)
    return findOrCreateDemo({ ...app, db: tx })
  })
  await writePrivateFile(demoKeyPath(dataDir), demo.apiKey, app.random)
  return demo
}

async function findOrCreateDemo(app: Needs): Promise<DemoMerchant> {
  const stored = (await findSecret(app.db, DEMO_SECRET)) ?? ''
  const presented = parseApiKey(stored)
  const key = presented && (await findKeyOwner(app.db, presented.id))
  if (presented && key && isUsable(app, key, presented.secret))
    return { merchant: await requireMerchant(app, key.merchant_id), apiKey: stored }
  const merchant = key
    ? await requireMerchant(app, key.merchant_id)
    : await createMerchant(app, { name: 'Demo Shop' })
  const { apiKey } = await createKey(app, merchant.id, { name: 'Demo key', scopes: ['*'] })
  await putSecret(app.db, DEMO_SECRET, apiKey)
  return { merchant, apiKey }
}

function isUsable(app: Needs, key: KeyOwnerRow, secret: string): boolean {
  const matches = constantTimeEquals(hashSecret(app.keyPepper, secret), key.secret_hash)
  return matches && !key.revoked_at && (!key.expires_at || key.expires_at > app.clock.now())
}

function requireMerchantRow(row: MerchantRow | undefined): MerchantRow {
  if (!row) throw new ApiError('merchant_not_found')
  return row
}

function toMerchant(row: MerchantRow): ManagedMerchant {
  return {
    id: row.id,
    name: row.name,
    mode: row.mode,
    baseCurrency: row.base_currency,
    status: row.status,
    settings: readSettings(row.settings, row.mode),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function readWindow({ page = 1, limit = DEFAULT_LIMIT }: ListWindow) {
  return { page, limit, offset: (page - 1) * limit }
}

function pageMeta(page: number, limit: number, counted: number): PageMeta {
  const total = Math.min(counted, COUNT_CAP)
  return {
    page,
    limit,
    total,
    totalIsCapped: counted > COUNT_CAP,
    pageCount: Math.ceil(total / limit),
    hasNext: page * limit < counted,
    hasPrevious: page > 1,
    nextCursor: null,
  }
}
