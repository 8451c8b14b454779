// Why a balance has changed: the balances at both ends of a period, and the sums of the lines between by their kind.

import type { Currency } from '../core/currency.ts'
import type { Db } from '../kit/db/db.ts'
import { archivedBefore } from '../kit/db/lists/archive-boundary.ts'
import { findCarriedAt } from './carried-queries.ts'
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
  /** Where the period begins instead, because earlier lines are archived. */
  since: Date | null
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
  const boundary = await archivedBefore(db, merchantId)
  const [from, to] = [startOf(boundary, createdFrom), createdTo ?? 'infinity']
  const standingAt = async (statement: typeof selectLastBefore, at: string) => {
    const [line] = await db.query(statement, [merchantId, currency, at])
    return line ?? (await findCarriedAt(db, merchantId, currency, at)) ?? NO_LINE
  }
  const [first, last] = await Promise.all([
    standingAt(selectLastBefore, from),
    standingAt(selectLastUntil, to),
  ])
  // A period that ends before it begins has no lines.
  const after = last.number < first.number ? first : last
  const since = from === createdFrom ? null : boundary
  if (after.number - first.number > MAX_SUMMED_LINES) return { before: first, after, sums: null, since }
  const sums = await db.query(selectSums, [merchantId, currency, first.number, after.number])
  return { before: first, after, sums, since }
}

/** A period begins at the boundary if it would begin before. */
function startOf(boundary: Date | null, createdFrom: string | undefined): string {
  const isOutside = boundary === null || (createdFrom !== undefined && new Date(createdFrom) >= boundary)
  return isOutside ? (createdFrom ?? '-infinity') : boundary.toISOString()
}
