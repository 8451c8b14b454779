// Double entry. A success credits the net amount to the merchant's pending account and the fee to the fee account;
// settlement moves it to available. Positive is what we owe to the account's owner, negative what a provider owes us.

import type { Currency } from '../core/currency.ts'
import { type Money, money, shareOf, subtract } from '../core/money.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db.ts'
import type { Random } from '../kit/random.ts'
import { claimDueSettlements, foldDeltas, selectBalances } from './queries.ts'

export { type NewEntry, recordEntry, type Taken, type Taking, takeBack } from './take-back.ts'

export interface Posting {
  account: string
  amount_minor: string
}

/** A percentage and a fixed part, per gateway and currency. */
export interface Fee {
  partsPerMillion: bigint
  fixedMinor: bigint
}

/** By gateway and currency. */
export type FeeTable = ReadonlyMap<string, ReadonlyMap<Currency, Fee>>

/** What we keep of a payment: never more than the payment itself. */
export function feeOf(fees: FeeTable, gateway: string, paid: Money): Money {
  const fee = fees.get(gateway)?.get(paid.currency)
  if (!fee) return money(0n, paid.currency)
  const wanted = shareOf(paid, fee.partsPerMillion).minor + fee.fixedMinor
  return money(wanted > paid.minor ? paid.minor : wanted, paid.currency)
}

export function capturePostings(gateway: string, paid: Money, fee: Money): Posting[] {
  return postings([
    [`gateway:${gateway}`, -paid.minor],
    ['pending', subtract(paid, fee).minor],
    ['fees', fee.minor],
  ])
}

/** Money that came a second time belongs to the payer: it waits in an account of its own to be sent back. */
export function duplicatePostings(gateway: string, paid: Money): Posting[] {
  return postings([
    [`gateway:${gateway}`, -paid.minor],
    ['duplicates', paid.minor],
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
const FOLD_BATCH = 5_000

export async function settleDueMoney(app: { db: Db; clock: Clock; random: Random }): Promise<number> {
  return claimDueSettlements(app.db, app.clock.now(), SETTLEMENT_BATCH, () => app.random.uuid())
}

export async function foldBalances(app: { db: Db }): Promise<number> {
  return foldDeltas(app.db, FOLD_BATCH)
}
