// Why a balance has changed: the balances at both ends of a period, and the sums of the lines between by their kind.

import type { Currency } from '../core/currency.ts'
import type { Db } from '../kit/db/db.ts'
import {
  type StandingRow,
  type SumRow,
  selectLastBefore,
  selectLastUntil,
  selectSums,
} from './change-queries.ts'
import { foldMerchant } from './statement.ts'

export type Standing = StandingRow
export type LineSum = SumRow

export interface ChangeQuery {
  currency: Currency
  createdFrom?: string
  createdTo?: string
}

export interface BalanceChange {
  before: Standing
  after: Standing
  /** Null: there are more lines than can be added at once. */
  sums: LineSum[] | null
}

/** 12 to 17 ms at 600,000 lines of one merchant: more would take longer than a page may. */
export const MAX_SUMMED_LINES = 10_000n

const NO_LINE: Standing = { number: 0n, availableMinor: 0n, pendingMinor: 0n }

/** Lines are numbered in the order of their times, so those of a period are exactly those between the two numbers. */
export async function readChange(
  db: Db,
  merchantId: string,
  { currency, createdFrom, createdTo }: ChangeQuery,
): Promise<BalanceChange> {
  await foldMerchant(db, merchantId)
  const [[first = NO_LINE], [last = NO_LINE]] = await Promise.all([
    db.query(selectLastBefore, [merchantId, currency, createdFrom ?? '-infinity']),
    db.query(selectLastUntil, [merchantId, currency, createdTo ?? 'infinity']),
  ])
  // A period that ends before it begins has no lines.
  const after = last.number < first.number ? first : last
  if (after.number - first.number > MAX_SUMMED_LINES) return { before: first, after, sums: null }
  const sums = await db.query(selectSums, [merchantId, currency, first.number, after.number])
  return { before: first, after, sums }
}
