// The wallet statement: one line per change of a balance, with the balances after it. Reading it folds the outstanding deltas
// first, so a line keeps the number and balances with which it was first returned.

import type { Currency } from '../core/currency.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { noteArchive } from '../kit/db/lists/archive-boundary.ts'
import { type ListQuery, type Page, paginate } from '../kit/db/pagination.ts'
import type { LineFilter, LineRow } from './line.ts'
import { countLineRows, foldDeltas, foldMerchantDeltas, selectLines } from './statement-queries.ts'

/** The kinds of entries that change a merchant's balances, with their meaning. */
export const LINE_KINDS = {
  capture: 'A payment succeeded: its amount without our fee is pending.',
  settlement: 'A payment was settled: its amount moved from pending to available, in two lines.',
  refund: 'Money went back to a payer.',
  refund_reversal: 'A refund failed after its success: its amount is available again.',
  dispute: 'A chargeback was opened: its amount is held back until it is decided.',
  dispute_won: 'A chargeback was decided for you: its amount is available again.',
  reversal: 'The provider took money back without a chargeback that was open before.',
} as const satisfies Record<string, string>

export type LineKind = keyof typeof LINE_KINDS

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const LINE_KIND_NAMES = Object.keys(LINE_KINDS) as LineKind[]

// Large enough for thousands of payments a second, while the statement takes some tens of milliseconds.
export const FOLD_BATCH = 5_000

export async function foldBalances(app: { db: Db }): Promise<number> {
  return foldDeltas(app.db, FOLD_BATCH)
}

export async function foldMerchant(db: Db, merchantId: string): Promise<void> {
  let folded = FOLD_BATCH
  while (folded === FOLD_BATCH) {
    folded = await foldMerchantDeltas(db, merchantId, FOLD_BATCH)
  }
}

export interface LineQuery extends ListQuery {
  currency?: Currency
  type?: LineKind
  /** The payment that caused the lines. */
  payment?: string
}

function filterOf({ currency, type, payment }: LineQuery): LineFilter {
  return { currency: currency ?? null, kind: type ?? null, paymentId: payment ?? null }
}

export async function listLines(
  app: { db: Db; cursors: Signer },
  merchantId: string,
  query: LineQuery,
): Promise<Page<LineRow>> {
  const filter = filterOf(query)
  const scope = `wallet:${merchantId}:${JSON.stringify(filter)}`
  const page = await paginate(app.cursors, scope, query, async (window) => {
    await foldMerchant(app.db, merchantId)
    const [rows, counted] = await Promise.all([
      selectLines(app.db, merchantId, filter, window),
      countLineRows(app.db, merchantId, filter, window),
    ])
    return { rows, counted }
  })
  return noteArchive(app.db, merchantId, query, page)
}

const READ_AT_ONCE = 1_000

/** Yields all lines from the oldest on, a thousand at a time, to bound the memory. */
export async function* readLines(
  app: { db: Db },
  merchantId: string,
  query: LineQuery,
): AsyncGenerator<LineRow[]> {
  await foldMerchant(app.db, merchantId)
  const window = { order: 'asc' as const, limit: READ_AT_ONCE, offset: 0, ...periodOf(query) }
  let after: { at: Date; id: string } | null = null
  for (;;) {
    const found: LineRow[] = await selectLines(app.db, merchantId, filterOf(query), { ...window, after })
    const rows = found.slice(0, READ_AT_ONCE)
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || found.length <= READ_AT_ONCE) return
    after = { at: last.createdAt, id: last.id }
  }
}

function periodOf({ createdFrom, createdTo }: LineQuery) {
  const dateOf = (text: string | undefined) => (text === undefined ? null : new Date(text))
  return { createdFrom: dateOf(createdFrom), createdTo: dateOf(createdTo) }
}
