// The payment methods that customers saved. The provider's token is stored sealed; the merchant charges by our recurring
// token. A method ends when the merchant revokes it or when its card expires.

import { hash } from 'node:crypto'
import type { MethodConsent } from '../consents/consent.ts'
import { ApiError, requireFound } from '../core/errors.ts'
import type { EventType } from '../core/event-types.ts'
import { base62 } from '../core/ids.ts'
import type { Merchant } from '../core/merchant.ts'
import { recordEvents } from '../events/service.ts'
import type { SavedMethod } from '../gateways/saved-method.ts'
import { type Db, sqlStateOf, type Tx } from '../kit/db/db.ts'
import { type IdempotentResult, isReplay } from '../kit/db/idempotency.ts'
import type { CustomersApp } from './app.ts'
import type { MethodByTokenRow, MethodRow, ShownMethod, TokenLookup } from './method.ts'
import {
  chooseDefault,
  expireMethodRows,
  listMethodRowsByToken,
  lockMethod,
  replaceCredential,
  revokeMethodRow,
  setDefault,
  upsertMethod,
} from './method-queries.ts'
import { lockCustomer } from './queries.ts'
import { type SavedMethodView, statusOf, toSavedMethod } from './schema.ts'

export function serializeMethod(app: CustomersApp, row: ShownMethod): SavedMethodView {
  return toSavedMethod(
    row,
    app.vault.open(row.tokenSealed, encryptionContext(row, 'token_sealed')),
    app.clock.now(),
  )
}

/** Returns the method of each lookup; undefined where the merchant has no such token. */
export async function findMethodsByToken(
  db: Db,
  lookups: readonly TokenLookup[],
): Promise<(MethodByTokenRow | undefined)[]> {
  const rows = await listMethodRowsByToken(db, lookups)
  const found = new Map(rows.map(({ n, ...row }) => [n, row]))
  return lookups.map(({ merchantId }, index) => {
    const method = found.get(index + 1)
    // One statement serves several merchants, so row-level security does not check this read.
    if (method && method.merchantId !== merchantId) throw new Error('found a method of another merchant')
    return method
  })
}

/** Concurrent lookups may share one statement. */
export interface MethodFinder {
  findMethod(lookup: TokenLookup): Promise<MethodByTokenRow | undefined>
}

/** Finds a method by the merchant's recurring token. Another merchant's token is not found. */
export async function requireMethodByToken(
  { findMethod }: MethodFinder,
  merchant: Merchant,
  recurringToken: string,
): Promise<MethodByTokenRow> {
  return requireFound(
    await findMethod({ merchantId: merchant.id, tokenHash: hashToken(recurringToken) }),
    'recurring_token_not_found',
  )
}

export function openCredential(app: CustomersApp, method: MethodRow): string {
  return app.vault.open(method.credentialSealed, encryptionContext(method, 'credential_sealed'))
}

const TOKEN_BYTES = 32
const TOKEN_CHARACTERS = 43

export interface MethodOwner {
  merchantId: string
  customerId: string
  gateway: string
  /** The account at the gateway that can charge the method; null is the account of the instance. */
  accountId: string | null
  isRecurring: boolean
  /** Absent: the payer was not asked. */
  consent?: MethodConsent
}

/** What its caller does in the transaction of a save. */
interface SaveSteps {
  /** False: nothing is saved. */
  before(tx: Tx): Promise<boolean>
  after?(tx: Tx, methodId: string): Promise<void>
}

/**
 * Saves a method; undefined if the step before it says that it is not needed. Concurrent saves of the same card of the same
 * customer make one record.
 */
export async function saveMethod(
  app: CustomersApp,
  owner: MethodOwner,
  method: SavedMethod,
  { before, after }: SaveSteps,
): Promise<MethodRow | undefined> {
  const save = async (tx: Tx) => {
    if (!(await before(tx))) return undefined
    const saved = await saveInTransaction(app, tx, owner, method)
    await after?.(tx, saved.id)
    return saved
  }
  return retryOnUniqueViolation(() => app.db.transaction(save))
}

async function saveInTransaction(
  app: CustomersApp,
  tx: Tx,
  owner: MethodOwner,
  method: SavedMethod,
): Promise<MethodRow> {
  const row = { merchantId: owner.merchantId, id: app.random.uuid() }
  const token = `rtk_${base62(app.random.bytes(TOKEN_BYTES), TOKEN_CHARACTERS)}`
  const { row: saved, isNew } = await upsertMethod(tx, {
    ...row,
    saveId: app.random.uuid(),
    customerId: owner.customerId,
    type: method.type,
    gateway: owner.gateway,
    accountId: owner.accountId,
    fingerprint: method.fingerprint,
    tokenHash: hashToken(token),
    tokenSealed: app.vault.seal(token, encryptionContext(row, 'token_sealed')),
    credentialSealed: app.vault.seal(method.credential, encryptionContext(row, 'credential_sealed')),
    currencies: method.currencies,
    card: method.card,
    mobileMoney: method.mobileMoney,
    isRecurringIntent: owner.isRecurring,
    consent: owner.consent ?? null,
    expiresAt: expiryOf(method),
    createdAt: app.clock.now(),
  })
  if (isNew) await emitMethodEvents(app, tx, 'payment_method.saved', [saved])
  if (saved.id === row.id || openCredential(app, saved) === method.credential) return saved
  const sealed = app.vault.seal(method.credential, encryptionContext(saved, 'credential_sealed'))
  return (await replaceCredential(tx, saved.merchantId, saved.id, sealed)) ?? saved
}

/** Of two concurrent defaults of one customer the unique index rejects one; its retry sees the other. */
async function retryOnUniqueViolation<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error
    return work()
  }
}

/** Omits the recurring token: the table stores it sealed, so an event must not hold it in plain text. */
async function emitMethodEvents(
  app: CustomersApp,
  tx: Tx,
  type: EventType,
  methods: readonly MethodRow[],
): Promise<void> {
  const now = app.clock.now()
  const events = methods.map((method) => ({
    merchantId: method.merchantId,
    type,
    resource: { type: 'payment_method' as const, uuid: method.id, version: method.version },
    data: toSavedMethod(method, null, now),
  }))
  await recordEvents(app, tx, app.mode, events)
}

/** Revokes a method permanently. A repeated request returns it unchanged. */
export async function revokeMethod(
  app: CustomersApp,
  merchant: Merchant,
  customerId: string,
  id: string,
): Promise<SavedMethodView> {
  const method = await retryOnUniqueViolation(() =>
    app.db.transaction(async (tx) => {
      const locked = await requireLockedMethod(tx, merchant, customerId, id)
      const revoked = await revokeMethodRow(tx, merchant.id, id)
      if (!revoked) return locked
      if (locked.isDefault) await chooseDefault(tx, merchant.id, customerId, app.clock.now())
      await emitMethodEvents(app, tx, 'payment_method.revoked', [revoked])
      return revoked
    }),
  )
  return serializeMethod(app, method)
}

const MAKE_DEFAULT = 'POST /api/v1/customers/{uuid}/payment-methods/{methodUuid}/default'

export async function makeDefault(
  app: CustomersApp,
  merchant: Merchant,
  customerId: string,
  id: string,
  key?: string,
): Promise<IdempotentResult<SavedMethodView>> {
  const claim = { merchantId: merchant.id, key, operation: MAKE_DEFAULT, input: { customerId, id } }
  const once = await retryOnUniqueViolation(() =>
    app.db.transaction(async (tx) => {
      const locked = await requireLockedMethod(tx, merchant, customerId, id)
      if (await isReplay(app, tx, claim)) return { record: locked, replayed: true }
      const status = statusOf(locked, app.clock.now())
      const record = status === 'active' ? await setDefault(tx, merchant.id, customerId, id) : undefined
      if (!record) throw new ApiError('invalid_state', { message: `This payment method is ${status}.` })
      return { record, replayed: false }
    }),
  )
  return { ...once, record: serializeMethod(app, once.record) }
}

/** Locks the customer first, which serializes changes of the customer's default. */
async function requireLockedMethod(
  tx: Tx,
  merchant: Merchant,
  customerId: string,
  id: string,
): Promise<MethodRow> {
  if (!(await lockCustomer(tx, merchant.id, customerId))) throw new ApiError('customer_not_found')
  return requireFound(await lockMethod(tx, merchant.id, customerId, id), 'payment_method_not_found')
}

const EXPIRY_BATCH = 100

/** Marks methods as expired and emits their events. Charges do not wait for this: they check the expiry date. */
export async function expireMethods(app: CustomersApp): Promise<number> {
  return app.db.transaction(async (tx) => {
    const now = app.clock.now()
    const expired = await expireMethodRows(tx, now, EXPIRY_BATCH)
    const owners = new Map(expired.map(({ merchantId, customerId }) => [customerId, merchantId]))
    for (const [customerId, merchantId] of owners) await chooseDefault(tx, merchantId, customerId, now)
    await emitMethodEvents(app, tx, 'payment_method.expired', expired)
    return expired.length
  })
}

// The token has 256 random bits, so a plain hash cannot be reversed by guessing.
function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

function encryptionContext(row: { merchantId: string; id: string }, column: string) {
  return { table: 'payment_methods', column, rowId: row.id, merchantId: row.merchantId }
}

/** When the card or the provider's token ends, whichever is first; null if neither does. */
function expiryOf({ card, tokenExpiresAt }: SavedMethod): Date | null {
  const cardEnd = card && endOfMonth(card.expiryYear, card.expiryMonth)
  if (!cardEnd || !tokenExpiresAt) return cardEnd ?? tokenExpiresAt ?? null
  return cardEnd < tokenExpiresAt ? cardEnd : tokenExpiresAt
}

/** A card is valid to the end of its month. */
function endOfMonth(year: number | null, month: number | null): Date | null {
  if (year === null || month === null) return null
  return new Date(Date.UTC(year, month, 1))
}
