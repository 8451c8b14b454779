// Double-entry ledger. A successful payment credits the net amount to the merchant's pending account and the fee to the fee
// account; settlement moves the net amount to available. Positive: we owe the account's owner. Negative: a provider owes us.

import type { Currency } from '../core/currency.ts'
import type { Mode } from '../core/merchant.ts'
import { formatAmount, type Money, money, subtract } from '../core/money.ts'
import { type EventInput, recordEvents } from '../events/service.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import type { Backlog } from '../kit/observability/backlog.ts'
import type { Random } from '../kit/random.ts'
import {
  claimDueSettlements,
  claimSettlementsOf,
  type SettledRow,
  selectBalances,
  selectSettlementBacklog,
} from './queries.ts'
import type { SettlementRecord } from './schema.ts'

export interface Posting {
  account: string
  amount_minor: string
}

export function capturePostings(gateway: string, paid: Money, fee: Money): Posting[] {
  return postings([
    [`gateway:${gateway}`, -paid.minor],
    ['pending', subtract(paid, fee).minor],
    ['fees', fee.minor],
  ])
}

/** Money that the payer sent directly to the merchant. It is recorded but in no balance, because we do not owe it. */
export function directPostings(gateway: string, paid: Money): Posting[] {
  return postings([
    [`gateway:${gateway}`, -paid.minor],
    ['direct', paid.minor],
  ])
}

/** A duplicate payment belongs to the payer. An account of its own holds it until it is refunded. */
export function duplicatePostings(gateway: string, paid: Money): Posting[] {
  return postings([
    [`gateway:${gateway}`, -paid.minor],
    ['duplicates', paid.minor],
  ])
}

/** Money of another amount than was asked for. An account of its own holds it until its case is resolved. */
export function unmatchedPostings(gateway: string, paid: Money): Posting[] {
  return postings([
    [`gateway:${gateway}`, -paid.minor],
    ['unmatched', paid.minor],
  ])
}

/** A capture of money that was held as unmatched. */
export function acceptedPostings(paid: Money, fee: Money): Posting[] {
  return postings([
    ['unmatched', -paid.minor],
    ['pending', subtract(paid, fee).minor],
    ['fees', fee.minor],
  ])
}

function postings(lines: [string, bigint][]): Posting[] {
  return lines
    .filter(([, amountMinor]) => amountMinor !== 0n)
    .map(([account, amountMinor]) => ({ account, amount_minor: String(amountMinor) }))
}

export interface Balance {
  currency: Currency
  available: Money
  pending: Money
  updatedAt: Date
}

export async function readBalances(db: Db, merchantId: string): Promise<Balance[]> {
  const rows = await selectBalances(db, merchantId)
  return rows.map((row) => ({
    currency: row.currency,
    available: money(row.availableMinor, row.currency),
    pending: money(row.pendingMinor, row.currency),
    updatedAt: row.updatedAt,
  }))
}

const SETTLEMENT_BATCH = 500

interface SettlementNeeds {
  db: Db
  clock: Clock
  random: Random
  mode: Mode
}

/** Settles the money that is due, and records one event per merchant and currency in the same transaction. */
export async function settleDueMoney(app: SettlementNeeds): Promise<number> {
  const now = app.clock.now()
  return app.db.transaction(async (tx) => {
    const settled = await claimDueSettlements(tx, now, SETTLEMENT_BATCH, () => app.random.uuid())
    await recordSettlementEvents(app, tx, settled, now)
    return settled.reduce((total, { payments }) => total + payments, 0)
  })
}

/** Settles these payments early, because a settlement file shows that the provider has settled them. */
export async function settlePayments(
  app: Omit<SettlementNeeds, 'db'>,
  tx: Tx,
  payments: readonly { merchantId: string; paymentId: string }[],
): Promise<number> {
  if (payments.length === 0) return 0
  const now = app.clock.now()
  const settled = await claimSettlementsOf(tx, now, payments, () => app.random.uuid())
  await recordSettlementEvents(app, tx, settled, now)
  return settled.reduce((total, { payments: count }) => total + count, 0)
}

/** Records the events of settlements, in the transaction of the settlements. */
export async function recordSettlementEvents(
  app: Omit<SettlementNeeds, 'db'>,
  tx: Tx,
  settled: readonly SettledRow[],
  settledAt: Date,
): Promise<void> {
  const events = settled.map(({ merchantId, currency, amountMinor, payments }): EventInput => {
    const uuid = app.random.uuid()
    const amount = formatAmount(money(amountMinor, currency))
    const data: SettlementRecord = { uuid, currency, amount, payments, settledAt: settledAt.toISOString() }
    return {
      merchantId,
      type: 'wallet.settled',
      resource: { type: 'settlement', uuid, version: 1 },
      data,
    }
  })
  await recordEvents(app, tx, app.mode, events)
}

/** How many settlements are due, for the operator and the metrics. */
export function readSettlementBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return selectSettlementBacklog(db, now)
}
