// Merchants as operators manage them: create, list, read, change, suspend, activate.

import { type Currency, DEFAULT_CURRENCY } from '../core/currency.ts'
import { ApiError, errorFromIssues, requireFound } from '../core/errors.ts'
import type { Merchant, Mode } from '../core/merchant.ts'
import { type Money, money, parseAmount } from '../core/money.ts'
import type { Clock } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import type { MerchantRow } from './merchant.ts'
import { type Listed, type ListWindow, pageMeta, readWindow } from './operator-list.ts'
import { type Placement, placeMerchant } from './placement.ts'

import {
  countMerchants,
  findMerchant,
  insertMerchant,
  listMerchantRows,
  updateMerchantRow,
} from './queries.ts'
import type {
  CreateMerchant,
  ExpectedLimits,
  LimitSetting,
  MerchantSettings,
  SettingsChanges,
  UpdateMerchant,
} from './schema.ts'
import { patchOf, readSettings, settingsIssues } from './settings.ts'

export interface MerchantsApp {
  instanceDb: Tx
  clock: Clock
  random: Random
  /** Of the environment: every new merchant gets it. */
  mode: Mode
  /** The gateways that routing rules may name; absent: any name. */
  gatewayNames?: readonly string[]
  /** Absent or null where all merchants are in one database. */
  placement?: Pick<Placement, 'choose' | 'copy' | 'copyChange' | 'cellNamesOf'> | null
}

export interface ManagedMerchant extends Merchant {
  readonly status: 'active' | 'suspended'
  readonly settings: MerchantSettings
  readonly createdAt: Date
  readonly updatedAt: Date
}

export async function createMerchant(app: MerchantsApp, input: CreateMerchant): Promise<ManagedMerchant> {
  assertValidSettings(app, input)
  const { fields, branding } = patchOf(input.settings ?? {})
  const now = app.clock.now()
  const draft = {
    id: app.random.uuid(),
    name: input.name,
    mode: app.mode,
    baseCurrency: input.baseCurrency ?? DEFAULT_CURRENCY,
    status: 'active' as const,
    settings: { ...fields, branding },
    createdAt: now,
    updatedAt: now,
  }
  const cell = await placeMerchant(app.placement, input.cell)
  await app.placement?.copy(draft, cell)
  return toMerchant(await insertMerchant(app.instanceDb, draft, cell))
}

export async function listMerchants(
  app: Pick<MerchantsApp, 'instanceDb'>,
  window: ListWindow,
): Promise<Listed<ManagedMerchant>> {
  const { page, limit, offset } = readWindow(window)
  const rows = await listMerchantRows(app.instanceDb, limit, offset)
  return { items: rows.map(toMerchant), meta: pageMeta(page, limit, await countMerchants(app.instanceDb)) }
}

export async function requireMerchant(
  app: Pick<MerchantsApp, 'instanceDb'>,
  merchantId: string,
): Promise<ManagedMerchant> {
  return toMerchant(requireMerchantRow(await findMerchant(app.instanceDb, merchantId)))
}

/** A suspended merchant collects nothing: its keys are rejected, and its open checkouts accept no further attempt. */
export async function isSuspended(
  app: Pick<MerchantsApp, 'instanceDb'>,
  merchantId: string,
): Promise<boolean> {
  return (await findMerchant(app.instanceDb, merchantId))?.status === 'suspended'
}

type MerchantUpdateApp = Pick<MerchantsApp, 'instanceDb' | 'clock' | 'placement'>

/** Pages show the change within 30 s, the TTL of the profile cache. */
export async function updateMerchant(
  app: MerchantUpdateApp & Pick<MerchantsApp, 'mode' | 'gatewayNames'>,
  merchantId: string,
  changes: UpdateMerchant,
): Promise<ManagedMerchant> {
  assertValidSettings(app, changes)
  const { name, settings, baseCurrency } = changes
  const patch = settings === undefined ? undefined : patchOf(settings)
  return changeMerchant(app, merchantId, { name, settings: patch, baseCurrency })
}

function assertValidSettings(
  app: Pick<MerchantsApp, 'mode' | 'gatewayNames'>,
  { settings }: Pick<UpdateMerchant, 'settings'>,
): void {
  const issues = settingsIssues(settings, app.mode, app.gatewayNames)
  if (issues.length > 0) throw errorFromIssues(issues)
}

/** The merchant's keys stop working in every process within seconds, the TTL of the key cache. */
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
  const row = await updateMerchantRow(app.instanceDb, merchantId, changes, app.clock.now())
  if (row) await app.placement?.copyChange(merchantId)
  return toMerchant(requireMerchantRow(row))
}

/**
 * Changes settings only while the lists of limits are those that the person has seen: the form has all of them, so it would
 * remove what another person has added meanwhile.
 */
export async function updateSettings(
  app: MerchantUpdateApp & Pick<MerchantsApp, 'mode' | 'gatewayNames'>,
  merchantId: string,
  { settings, expected }: { settings: SettingsChanges; expected?: ExpectedLimits },
): Promise<MerchantSettings> {
  assertValidSettings(app, { settings })
  const changes = { settings: patchOf(settings), expected }
  const row = await updateMerchantRow(app.instanceDb, merchantId, changes, app.clock.now())
  if (!row && expected) throw new ApiError('invalid_state', { message: 'The limits have changed meanwhile.' })
  return toMerchant(requireMerchantRow(row)).settings
}

function requireMerchantRow(row: MerchantRow | undefined): MerchantRow {
  return requireFound(row, 'merchant_not_found')
}

function toMerchant(row: MerchantRow): ManagedMerchant {
  return { ...row, settings: readSettings(row.settings, row.mode) }
}

/** From which amount of this currency the limit applies; null for never. */
export async function findLimit(
  db: Tx,
  merchantId: string,
  setting: LimitSetting,
  currency: Currency,
): Promise<Money | null> {
  const row = await findMerchant(db, merchantId)
  const limits = row ? readSettings(row.settings, row.mode)[setting] : []
  return limitOf(limits, currency)
}

export function limitOf(limits: MerchantSettings[LimitSetting], currency: Currency): Money | null {
  const found = limits.find((one) => one.currency === currency)
  if (!found) return null
  const amount = parseAmount(found.from, currency)
  // Zero, or more decimals than the currency has: the limit applies to every amount.
  return typeof amount === 'string' ? money(0n, currency) : amount
}
