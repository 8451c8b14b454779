// The wallet statement for merchants: as a JSON list with pagination, or as a CSV file for a spreadsheet.

import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import type { PageMeta } from '../core/page.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { BYTE_ORDER_MARK, csvLine, trustedCell, untrustedCell } from '../kit/http/csv.ts'
import { createLocalTime } from '../kit/time-zone.ts'
import type { LineRow } from '../ledger/line.ts'
import { type LineQuery, listLines, readLines } from '../ledger/statement.ts'
import { type CarriedRow, listCarried } from './carried-queries.ts'

export interface StatementApp {
  db: Db
  cursors: Signer
  /** The merchant's own references of payments, by their uuid. */
  referencesOf(merchantId: string, paymentIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  timeZoneOf(merchantId: string): Promise<string>
}

export async function listTransactions(
  app: StatementApp,
  merchant: Merchant,
  query: LineQuery,
): Promise<{ records: object[]; meta: PageMeta }> {
  const { rows, meta } = await listLines(app, merchant.id, query)
  const references = await referencesOf(app, merchant, rows)
  return { records: rows.map((row) => toRecord(row, references)), meta }
}

type References = ReadonlyMap<string, string>

function referencesOf(app: StatementApp, merchant: Merchant, rows: readonly LineRow[]): Promise<References> {
  return app.referencesOf(merchant.id, [...new Set(rows.map(({ paymentId }) => paymentId))])
}

function toRecord(row: LineRow, references: References) {
  return {
    // Far below the largest exact integer of a JSON number.
    number: Number(row.number),
    type: row.kind,
    balance: row.account,
    amount: amountOf(row, row.amountMinor),
    currency: row.currency,
    availableBalance: amountOf(row, row.availableMinor),
    pendingBalance: amountOf(row, row.pendingMinor),
    payment: { uuid: row.paymentId, reference: references.get(row.paymentId) ?? '' },
    createdAt: row.createdAt.toISOString(),
  }
}

const amountOf = ({ currency }: LineRow, minor: bigint) => formatAmount(money(minor, currency))

const COLUMNS = [
  'number',
  'createdAt',
  'type',
  'balance',
  'amount',
  'currency',
  'availableBalance',
  'pendingBalance',
  'payment',
  'reference',
]

/** Streams the statement as CSV, of any length. */
export async function* exportTransactions(
  app: StatementApp,
  merchant: Merchant,
  query: LineQuery,
): AsyncGenerator<string> {
  const localTime = createLocalTime(await app.timeZoneOf(merchant.id))
  yield BYTE_ORDER_MARK + csvLine(COLUMNS)
  for (const carried of await listCarried(app.db, merchant.id, query))
    yield csvLine(carriedCells(carried, localTime))
  for await (const rows of readLines(app, merchant.id, query)) {
    const references = await referencesOf(app, merchant, rows)
    yield rows.map((row) => csvLine(toCells(row, references, localTime))).join('')
  }
}

/** The lines before this one are archived: its balances are those after the last of them. */
function carriedCells(
  { number, before, currency, availableMinor, pendingMinor }: CarriedRow,
  localTime: (time: string) => string,
): string[] {
  const [available, pending] = [availableMinor, pendingMinor].map((minor) =>
    formatAmount(money(minor, currency)),
  )
  const cells = [String(number), localTime(before.toISOString()), 'archived', '', '', currency]
  return [...cells, available ?? '', pending ?? '', '', ''].map(trustedCell)
}

function toCells(row: LineRow, references: References, localTime: (time: string) => string): string[] {
  const { number, createdAt, type, balance, amount, currency, availableBalance, pendingBalance, payment } =
    toRecord(row, references)
  const trusted = [
    String(number),
    localTime(createdAt),
    type,
    balance,
    amount,
    currency,
    availableBalance,
    pendingBalance,
    payment.uuid,
  ]
  return [...trusted.map(trustedCell), untrustedCell(payment.reference)]
}
