// Why a balance has changed, as amounts: both ends of a period, and what each kind of line between them added.

import type { Currency } from '../core/currency.ts'
import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import type { Db } from '../kit/db/db.ts'
import {
  type ChangeQuery,
  type LineSum,
  MAX_SUMMED_LINES,
  readChange,
  type Standing,
} from '../ledger/change.ts'

/** What one kind of lines added to both balances. */
interface ChangePart {
  type: string
  lines: number
  available: string
  pending: string
}

export interface WalletChange {
  lines: number
  maxLines: number
  before: { availableBalance: string; pendingBalance: string }
  after: { availableBalance: string; pendingBalance: string }
  /** Null: there are too many lines. */
  parts: ChangePart[] | null
  /** What the fees took from pending. The part of captures is before fees. */
  fees: string
  /** Where the period begins instead, because earlier lines are archived. */
  since: string | null
}

export async function explainChange(
  app: { db: Db },
  merchant: Merchant,
  query: ChangeQuery,
): Promise<WalletChange> {
  const { currency } = query
  const { before, after, sums, since } = await readChange(app.db, merchant.id, query)
  const fees = (sums ?? []).reduce((total, { feeMinor }) => total + feeMinor, 0n)
  return {
    lines: Number(after.number - before.number),
    maxLines: Number(MAX_SUMMED_LINES),
    before: toStanding(before, currency),
    after: toStanding(after, currency),
    parts:
      sums && [...Map.groupBy(sums, ({ kind }) => kind)].map(([kind, rows]) => toPart(kind, rows, currency)),
    fees: formatAmount(money(-fees, currency)),
    since: since?.toISOString() ?? null,
  }
}

const toStanding = ({ availableMinor, pendingMinor }: Standing, currency: Currency) => ({
  availableBalance: formatAmount(money(availableMinor, currency)),
  pendingBalance: formatAmount(money(pendingMinor, currency)),
})

/** With the amount before the fee. */
function toPart(type: string, rows: readonly LineSum[], currency: Currency): ChangePart {
  const sumOf = (account: LineSum['account']) => {
    const row = rows.find((one) => one.account === account)
    return formatAmount(money(row ? row.amountMinor + row.feeMinor : 0n, currency))
  }
  const lines = rows.reduce((total, row) => total + row.lines, 0)
  return { type, lines, available: sumOf('available'), pending: sumOf('pending') }
}
